// Package terminal writes text of servers to a terminal.
package terminal

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"
)

// An Output is standard output or standard error.
type Output struct {
	w     io.Writer
	width int // 0 if this is not a terminal
}

// New returns the output of a file. If the file is a terminal, Output replaces the control characters
// in the text of servers, so that they cannot change what the terminal shows or does.
func New(f *os.File) *Output {
	o := &Output{w: f}
	if term.IsTerminal(int(f.Fd())) {
		o.width = defaultWidth
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			o.width = width
		}
	}
	return o
}

// NewFixed returns an output that is a terminal with a width, or no terminal if the width is 0.
func NewFixed(w io.Writer, width int) *Output { return &Output{w, width} }

const defaultWidth = 80

// IsTerminal reports whether the output is a terminal.
func (o *Output) IsTerminal() bool { return o.width > 0 }

// Write writes bytes as they are if this is not a terminal, and otherwise without control characters.
func (o *Output) Write(p []byte) (int, error) {
	if !o.IsTerminal() {
		return o.w.Write(p)
	}
	_, err := io.WriteString(o.w, Safe(string(p)))
	return len(p), err
}

// Unwrap returns the writer of the output, for bytes that must not change.
func (o *Output) Unwrap() io.Writer { return o.w }

// Control writes bytes as they are, for control characters of this program.
func (o *Output) Control(text string) { _, _ = io.WriteString(o.w, text) }

// Printf formats a text and writes it.
func (o *Output) Printf(format string, args ...any) { fmt.Fprintf(o, format, args...) }

// Println writes values and a newline.
func (o *Output) Println(args ...any) { fmt.Fprintln(o, args...) }

// Safe replaces the characters that control a terminal, except newlines and tabs, and the characters
// that change the direction of text. The bytes that are not UTF-8 are replaced too.
func Safe(s string) string {
	if strings.IndexFunc(s, unsafe) < 0 {
		return s
	}
	var out strings.Builder
	for _, r := range s {
		switch {
		case !unsafe(r):
			out.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(&out, `\x%02x`, r)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
	}
	return out.String()
}

func unsafe(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r == utf8.RuneError:
		return true
	}
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)
}

// Paragraph writes text with an indent. On a terminal, lines are wrapped at its width.
func (o *Output) Paragraph(indent, text string) {
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		for _, part := range wrap(line, o.width-len(indent)) {
			o.Println(strings.TrimRight(indent+part, " "))
		}
	}
}

// Line returns a text that fits on one line of the terminal.
func (o *Output) Line(text string) string {
	text = strings.ReplaceAll(strings.ReplaceAll(Safe(text), "\n", " "), "\t", " ")
	if runes := []rune(text); o.IsTerminal() && len(runes) >= o.width {
		text = string(runes[:o.width-1])
	}
	return text
}

// minWidth is the smallest width at which text is wrapped.
const minWidth = 20

// wrap breaks a line between words. It returns the line if the width is not positive.
func wrap(line string, width int) []string {
	if width <= 0 || utf8.RuneCountInString(line) <= width {
		return []string{line}
	}
	width = max(width, minWidth)
	start := len(line) - len(strings.TrimLeft(line, " "))
	indent := line[:min(start, width/2)]
	var lines []string
	current := indent
	for word := range strings.FieldsSeq(line) {
		if current != indent && utf8.RuneCountInString(current)+1+utf8.RuneCountInString(word) > width {
			lines = append(lines, current)
			current = indent
		}
		if current != indent {
			current += " "
		}
		current += word
	}
	return append(lines, current)
}

// Table writes rows in columns. On a terminal, the last column is wrapped at its width. If the terminal
// is too narrow for that, the columns after the first one are below the first one.
func (o *Output) Table(rows [][]string) {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(Safe(cell)))
		}
	}
	for _, row := range rows {
		o.row(row, widths)
	}
}

// maxColumn limits the width of a column that is not the last.
const maxColumn = 40

// narrowIndent is the indent of the columns below the first one.
const narrowIndent = "      "

func (o *Output) row(row []string, widths []int) {
	var line strings.Builder
	used := 0
	for i, cell := range row[:len(row)-1] {
		width := min(widths[i], maxColumn)
		cell = Safe(cell)
		line.WriteString(cell)
		line.WriteString(strings.Repeat(" ", max(0, width-utf8.RuneCountInString(cell))+2))
		used += width + 2
	}
	last := row[len(row)-1]
	switch {
	case !o.IsTerminal():
		o.Println(strings.TrimRight(line.String()+last, " "))
		return
	case used+minWidth > o.width:
		o.Paragraph("", row[0])
		for _, cell := range row[1:] {
			o.Paragraph(narrowIndent, cell)
		}
		return
	}
	prefix := line.String()
	for _, part := range wrap(last, o.width-used) {
		o.Println(strings.TrimRight(prefix+part, " "))
		prefix = strings.Repeat(" ", used)
	}
}

// FirstLine returns the first sentence or line of a text, clipped to max runes.
func FirstLine(text string, max int) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if sentence, _, ok := strings.Cut(line, ". "); ok {
		line = sentence + "."
	}
	if utf8.RuneCountInString(line) > max {
		line = string([]rune(line)[:max-1]) + "…"
	}
	return line
}
