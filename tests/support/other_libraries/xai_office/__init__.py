"""Stands in for libraries that do the work of tools: tasks, a calendar, the weather."""
