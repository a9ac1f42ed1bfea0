package streamable

// tally counts things, and those of each principal that has a name.
type tally struct {
	all int
	of  map[string]int
}

// add adds n things of a principal.
func (t *tally) add(principal string, n int) {
	t.all += n
	if principal != "" {
		t.addOf(principal, n)
	}
}

func (t *tally) addOf(principal string, n int) {
	if t.of == nil {
		t.of = make(map[string]int)
	}
	if t.of[principal] += n; t.of[principal] == 0 {
		delete(t.of, principal)
	}
}

// fits tells whether a principal may have one more. Nobody in particular may.
func (t *tally) fits(principal string, most int) bool {
	return principal == "" || within(t.of[principal], most)
}
