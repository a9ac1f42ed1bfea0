package judge

import (
	"encoding/json"
	"errors"
	"strings"
	"time"
)

// maxWork is how long it may take to judge one document; a short one may take
// less. That is not measured by a clock, so that a document is judged in the same
// way on every machine: all that the validator does has a nominal time, which is
// added up before it does it.
const (
	maxWork     = 1 * time.Second
	minWork     = 50 * time.Millisecond
	workPerByte = 20 * time.Microsecond
)

// Nominal times, in nanoseconds: those of a slow machine, for the worst that a
// document can make of each.
const (
	perVisit       = 1000  // to hold a schema against a value
	perFault       = 10000 // to say that it does not fit
	perLevel       = 500   // of nesting, to say where a fault is
	perDepth       = 20    // the same, for each level above; and of a visit
	perMember      = 400   // of an object or a list
	perName        = 50    // that a schema lists
	perMissing     = 500   // name that a schema lists
	perByte        = 10    // of a text or name
	perPathByte    = 2     // of the pointer to a value
	perInstruction = 5     // of a pattern, for each byte of what it is held against
	perValue       = 50    // to compare
	perNumber      = 500   // to compute with
	perDigit       = 50
	perDraft       = 1000 // to judge a value as a schema, times the comparing

	matching      = 10 // bytes that beginning to match a pattern is worth
	namesPerFault = 10 // names that a fault of its own is worth
	bytesPerName  = 16
)

var errTooMuchWork = errors.New("it would take too long to judge this by the schema")

// work is what is left to one validation, and where in the document it is.
type work struct {
	left  time.Duration
	depth int // schemas that are being held against values
	path  int // bytes of the longest pointer to a value there
}

func newWork(size int) work {
	return work{left: min(minWork+time.Duration(size)*workPerByte, maxWork)}
}

func (w *work) spend(d time.Duration) {
	if w.left -= d; w.left < 0 {
		panic(errTooMuchWork)
	}
}

// comparing is the work to compare a value with another.
func comparing(value any) (d time.Duration) {
	d = perValue
	switch v := value.(type) {
	case map[string]any:
		for name, x := range v {
			d += time.Duration(len(name)) + comparing(x)
		}
	case []any:
		for _, x := range v {
			d += comparing(x)
		}
	case string:
		d += time.Duration(len(v))
	case json.Number:
		digits := len(v)
		if strings.ContainsAny(string(v), "eE") {
			digits += maxExponent
		}
		d += perNumber + time.Duration(digits)*perDigit
	}
	return d
}
