"""Proofs in a real JupyterLab in a real Chromium: one lab and one window for all of them."""
