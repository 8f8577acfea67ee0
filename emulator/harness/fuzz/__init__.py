"""Random and damaged packets through programs: the engines agree, nothing leaks, the state stays whole."""
