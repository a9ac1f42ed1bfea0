package client

// InFlight returns the number of requests of the client that have no response.
func (c *Client) InFlight() int {
	c.state.mu.Lock()
	defer c.state.mu.Unlock()
	return len(c.state.calls)
}
