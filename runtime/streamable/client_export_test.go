package streamable

// UnderWay is how many requests of the client are under way.
func (c *Client) UnderWay() int {
	c.state.mu.Lock()
	defer c.state.mu.Unlock()
	return len(c.state.exchanges)
}

// RaceEnabled tells whether the build detects races.
func RaceEnabled() bool { return raceEnabled }
