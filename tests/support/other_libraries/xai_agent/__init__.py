"""Stands in for XpressAI's xai-agent: its class and port names, and nothing behind them."""
