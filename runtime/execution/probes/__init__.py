"""What devices can do though no standard promises it: tried before it is relied on."""
