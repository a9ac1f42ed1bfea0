package peer

// A Poster is an [Outbound] that may take a notification without waiting for
// the peer: something that tells many does not wait for one of them.
type Poster interface {
	Outbound
	// TryNotify sends n, if that takes no waiting. False is that nothing was sent
	// and [Outbound].Notify has to be tried, by somebody who can wait: it also
	// knows what may be wrong with n.
	TryNotify(n Notification, opts ...CallOption) (taken bool)
}

// Post posts n over out. It is false for what is no [Poster].
func Post(out Outbound, n Notification, opts ...CallOption) (taken bool) {
	p, ok := out.(Poster)
	return ok && p.TryNotify(n, opts...)
}

// A Rendered notification is another one that has been written down before, to
// be sent to many. It is for writing: whoever looks at notifications looks at
// the [Plain] one.
type Rendered interface {
	Notification
	// Plain returns the notification that was written down. It is shared and
	// not to be changed.
	Plain() Notification
}

// Plain returns the notification that n renders, and n itself where it renders
// none.
func Plain(n Notification) Notification {
	if r, ok := n.(Rendered); ok {
		return r.Plain()
	}
	return n
}
