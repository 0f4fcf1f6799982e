"""Built-in tools: time, calculation, files of one folder. Off unless an entry names them."""
