package mcpserver

import (
	"fmt"
	"time"

	"github.com/mcpwright/mcp/runtime/mcpserver/internal/rounds"
)

// QuestionOptions say how questions to a client are kept together that travel in the
// answers to its requests. The zero value works for one process. A negative limit
// is none.
type QuestionOptions struct {
	// SealKeys seal what a client carries from one round to the next: the first
	// one seals, all of them open. Each has 32 bytes or more. Nil is a random
	// key of this process: where a client's next request may come to another
	// replica, or to this one after a restart, all of them have to have the
	// same Keys. A new key is added at the end everywhere, then moved to the
	// front, and the old one dropped when nothing that it sealed is under way
	// any more.
	SealKeys [][]byte
	// RoundTTL is how long a client may take for one round; 0 is 10 minutes. What a
	// task asks is open as long as the task is kept.
	RoundTTL time.Duration
	// MaxRounds is how often one request may be answered with questions, and
	// how often a question that travels on its own is put while the answers
	// do not fit; 0 is 10. Beyond, the request is answered with an error.
	MaxRounds int
	// MaxState bounds what a client carries, in bytes; 0 is 64 KiB. Beyond,
	// the request is answered with an error.
	MaxState int
}

// newRules makes the rules that all rounds of the server have in common. It
// panics on options that make no sense.
func (s *Server) newRules() *rounds.Rules {
	o := &s.opts.Questions
	rules, err := rounds.New(rounds.Options{
		Keys: o.SealKeys, Expiry: o.RoundTTL, MaxRounds: o.MaxRounds, MaxState: o.MaxState,
		Audience: s.info.Name, Logger: s.opts.Logger, Pick: s.pick, Kept: stateKept,
	})
	if err != nil {
		panic(fmt.Sprintf("mcpserver: %v", err))
	}
	return rules
}
