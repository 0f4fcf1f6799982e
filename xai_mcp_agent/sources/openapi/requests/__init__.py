"""From a plan and arguments to the request that is sent."""
