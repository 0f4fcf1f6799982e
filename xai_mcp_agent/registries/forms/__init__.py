"""The forms in which registries describe servers, each brought into the words of server.json."""
