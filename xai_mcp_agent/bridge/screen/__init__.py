"""What a run prints: in the lab's output panel, in a terminal, into a file or a pipe.

Plain lines, so that the same text can be read, searched and compared everywhere. What a model or
a server wrote is never rendered (as Markdown, as HTML): it could show an image from the net, or
a link that leads elsewhere than it says. Only colours are added, lines that change while
something is waited for, and in the lab folds that hold the rest of a long text.
"""
