"""Joins the synchronous canvas to the asynchronous world, and the parts to each other."""
