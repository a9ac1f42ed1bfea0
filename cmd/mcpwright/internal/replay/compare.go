package replay

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Difference is a value that is not as in the recording.
type Difference struct {
	N       int    `json:"n"` // number of the recorded message, or 0 if it is not in the recording
	Method  string `json:"method"`
	Pointer string `json:"pointer"` // JSON pointer in the message, empty for the whole message
	Problem string `json:"problem"`
}

// String returns the difference as a line.
func (d Difference) String() string {
	text := d.Method + ": "
	if d.N != 0 {
		text = fmt.Sprintf("%d %s", d.N, text)
	}
	if d.Pointer != "" {
		text += d.Pointer + ": "
	}
	return text + d.Problem
}

// opaque are the names of members whose values are valid only in one run. Later messages
// use the value of the run.
var opaque = []string{"requestState", "nextCursor", "cursor", "taskId", "sessionId", "subscriptionId", "elicitationId"}

// times are the names of members with times.
var times = []string{"createdAt", "lastUpdatedAt", "updatedAt", "timestamp", "time", "date", "pollInterval"}

var uuid = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// Ignore is a list of pointers. Differences at a pointer, or below it, are ignored. The
// segment * is any member or item.
type Ignore []string

// matches reports whether a difference at a pointer is ignored.
func (i Ignore) matches(pointer string) bool {
	have := strings.Split(pointer, "/")
	return slices.ContainsFunc(i, func(pattern string) bool {
		want := strings.Split(strings.TrimSuffix(pattern, "/"), "/")
		if len(want) > len(have) {
			return false
		}
		for at, segment := range want {
			if segment != "*" && segment != have[at] {
				return false
			}
		}
		return true
	})
}

// comparison compares a message with a recorded message.
type comparison struct {
	ignore  Ignore
	renewed map[string]string // opaque values of the recording, with the values of this run; may be nil
	report  func(pointer, problem string)
}

// compare compares the value of a member. The name is the name of the nearest member.
func (c *comparison) compare(pointer, name string, recorded, received any) {
	if c.ignore.matches(pointer) {
		return
	}
	switch was := recorded.(type) {
	case map[string]any:
		if is, ok := received.(map[string]any); ok {
			c.compareObjects(pointer, was, is)
			return
		}
	case []any:
		if is, ok := received.([]any); ok {
			c.compareArrays(pointer, name, was, is)
			return
		}
	case string:
		if is, ok := received.(string); ok && c.sameText(name, was, is) {
			return
		}
	case json.Number:
		if is, ok := received.(json.Number); ok && (was == is || sameNumber(was, is) || slices.Contains(times, name)) {
			return
		}
	default:
		if recorded == received {
			return
		}
	}
	c.report(pointer, fmt.Sprintf("recorded %s, received %s", show(recorded), show(received)))
}

func (c *comparison) compareObjects(pointer string, recorded, received map[string]any) {
	names := slices.AppendSeq(slices.Collect(maps.Keys(recorded)), maps.Keys(received))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		at := pointer + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
		was, inRecorded := recorded[name]
		is, inReceived := received[name]
		switch {
		case inRecorded && inReceived:
			c.compare(at, name, was, is)
		case c.ignore.matches(at):
		case inRecorded:
			c.report(at, fmt.Sprintf("recorded %s, received no such member", show(was)))
		default:
			c.report(at, fmt.Sprintf("received %s, which is not in the recording", show(is)))
		}
	}
}

func (c *comparison) compareArrays(pointer, name string, recorded, received []any) {
	for i := range min(len(recorded), len(received)) {
		c.compare(pointer+"/"+strconv.Itoa(i), name, recorded[i], received[i])
	}
	if len(recorded) != len(received) {
		c.report(pointer, fmt.Sprintf("recorded %d items, received %d", len(recorded), len(received)))
	}
}

// sameText reports whether two strings are equal, or may differ between runs.
func (c *comparison) sameText(name, recorded, received string) bool {
	switch {
	case recorded == received || strings.Contains(recorded, mask) || slices.Contains(times, name):
		return true
	case slices.Contains(opaque, name) || uuid.MatchString(recorded) && uuid.MatchString(received):
		if c.renewed != nil {
			c.renewed[recorded] = received
		}
		return true
	}
	return isTime(recorded) && isTime(received)
}

func isTime(text string) bool {
	_, err := time.Parse(time.RFC3339, text)
	return err == nil
}

func sameNumber(a, b json.Number) bool {
	x, err := a.Float64()
	y, err2 := b.Float64()
	return err == nil && err2 == nil && x == y
}

// maxShown limits the bytes of a value in a difference.
const maxShown = 120

// show returns a value as text.
func show(value any) string {
	text := string(encode(value))
	if len(text) > maxShown {
		text = strings.ToValidUTF8(text[:maxShown], "") + "..."
	}
	return text
}
