package mcptest

// StoredRequests returns the number of requests that a validator stores.
func StoredRequests(v *Validator) int { return len(v.requests) }
