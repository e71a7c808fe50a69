"""From an algorithm and a model to a graph, and from the graph to something that runs."""
