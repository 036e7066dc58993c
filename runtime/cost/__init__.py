"""The model of cost: predicted times of launches and versions on a device, from their work."""
