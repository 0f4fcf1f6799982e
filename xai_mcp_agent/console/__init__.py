"""Output of a run, and questions to the person in front of it: terminal, lab, file or pipe."""
