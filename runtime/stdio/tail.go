package stdio

import (
	"bytes"
	"strings"
)

const (
	// tailLines is how many lines of a child's standard error an error shows.
	tailLines = 12
	// tailSize is how many bytes of it are kept.
	tailSize = 4 << 10
)

// tail keeps the end of a text.
type tail struct {
	text []byte
	cut  bool // something came before text
}

// add appends to the text.
func (t *tail) add(more []byte) {
	if over := len(t.text) + len(more) - tailSize; over > 0 {
		t.cut = true
		t.text = t.text[:copy(t.text, t.text[min(over, len(t.text)):])]
		more = more[max(0, len(more)-tailSize):]
	}
	t.text = append(t.text, more...)
}

// lines returns the last lines, without those that are blank. A line of which
// only the end is left is among them where there is no other.
func (t *tail) lines() []string {
	text := t.text
	if first := bytes.IndexByte(text, '\n'); t.cut && first >= 0 && first < len(text)-1 {
		text = text[first+1:]
	}
	var lines []string
	for line := range strings.Lines(strings.ToValidUTF8(string(text), "\uFFFD")) {
		if line = strings.TrimRight(line, " \t\r\n"); line != "" {
			lines = append(lines, line)
		}
	}
	return lines[max(0, len(lines)-tailLines):]
}
