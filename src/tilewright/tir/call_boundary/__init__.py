"""From functions over buffers to functions that anybody can call: arguments, results and errors."""
