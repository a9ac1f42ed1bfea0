package chaos

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"slices"
)

// observation is an element of a history.
type observation struct {
	At      int64  `json:"at"` // nanoseconds; the processes of a run have the same clock
	Kind    kind   `json:"kind"`
	Client  string `json:"client,omitempty"`  // a connection of a client
	Call    string `json:"call,omitempty"`    // the id of a call
	Stream  string `json:"stream,omitempty"`  // the id of a call, or the connection with a standalone stream
	Number  int    `json:"number,omitempty"`  // of an event in its stream; a count
	Session string `json:"session,omitempty"` // the id of a session
	Epoch   uint32 `json:"epoch,omitempty"`   // of the session
	Replica string `json:"replica,omitempty"` // a process
	Result  string `json:"result,omitempty"`  // of a call
	Status  int    `json:"status,omitempty"`  // of a response over HTTP; 0 if there was none
	Nonce   string `json:"nonce,omitempty"`   // of a question
	Text    string `json:"text,omitempty"`
	Alone   bool   `json:"alone,omitempty"` // replicas may be without the engine during the fault
}

// kind is the kind of an observation.
type kind string

const (
	// Of clients.
	began    kind = "began"    // Client has begun Call
	ended    kind = "ended"    // Call has ended with Result; Text is the text of the result or error
	arrived  kind = "arrived"  // Client has received event Number of Stream
	gap      kind = "gap"      // Client was notified that events of its standalone stream may be missing
	noticed  kind = "noticed"  // Client was notified of a change of the note; Text is the error that ended its subscription
	replied  kind = "replied"  // Client has responded to the question Nonce
	intruded kind = "intruded" // a request of another principal for Session got Status
	closed   kind = "closed"   // Client has ended Session
	probed   kind = "probed"   // a request for Session, which has ended, got Status
	rested   kind = "rested"   // Client has called a tool after the last fault, with Result

	// Of replicas.
	started   kind = "started"   // Replica has begun to execute Call, in Epoch of Session
	sending   kind = "sending"   // Replica sends event Number of Stream
	stored    kind = "stored"    // event Number of Stream was accepted
	touching  kind = "touching"  // Replica is about to publish the change of the note by Call
	touched   kind = "touched"   // the change was published
	asked     kind = "asked"     // Call asks the question Nonce
	responded kind = "responded" // the response to the question Nonce contains Text

	// Of the run.
	failed kind = "failed" // the fault Text has begun, at Replica, or at all of them if it is empty
	healed kind = "healed" // the fault Text has ended
	left   kind = "left"   // Number things of the kind Text were left, in Replica or in the engine
)

// paused is the fault of a replica that is stopped for a while.
const paused = "pause"

// probeCall returns the id of the call that tests whether a session has ended.
func probeCall(session string) string { return "probe of " + session }

// Results of calls.
const (
	resultOK        = "ok"
	resultRefused   = "refused"    // the server has not executed the call
	resultOwnerLost = "owner lost" // the server has reported that the replica of the call is gone
	resultTimeout   = "timeout"
	resultUnknown   = "unknown" // another error: the call may have had effects
)

// readHistory returns the observations in files, in the order of their times.
func readHistory(files ...string) ([]observation, error) {
	var all []observation
	for _, name := range files {
		part, err := readFile(name)
		if err != nil {
			return nil, err
		}
		all = append(all, part...)
	}
	slices.SortStableFunc(all, func(a, b observation) int { return cmp.Compare(a.At, b.At) })
	return all, nil
}

func readFile(name string) (list []observation, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var o observation
		if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
			return nil, fmt.Errorf("%s: line %q: %w", name, lines.Bytes(), err)
		}
		list = append(list, o)
	}
	return list, lines.Err()
}
