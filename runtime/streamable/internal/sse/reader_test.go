package sse

import (
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"
)

// readAll reads a stream to its end. It returns one line for each event, and the
// reader.
func readAll(t testing.TB, r io.Reader, most int) ([]string, *Reader) {
	t.Helper()
	events := NewReader(r, most)
	var list []string
	for {
		ev, err := events.Next()
		switch {
		case errors.Is(err, ErrEventTooLong):
			list = append(list, "too long")
		case errors.Is(err, io.EOF):
			return list, events
		default:
			require.NoError(t, err)
			list = append(list, ev.Name+"|"+string(ev.Data.Bytes))
			ev.Data.Free()
		}
	}
}

func TestReader(t *testing.T) {
	long := strings.Repeat("x", 3*chunkSize)
	for _, c := range []struct {
		name, stream string
		want         []string
		id           string
		retry        time.Duration
	}{
		{name: "line feeds", stream: "data: a\n\ndata: b\n\n", want: []string{"message|a", "message|b"}},
		{name: "carriage returns", stream: "data: a\r\rdata: b\r\r", want: []string{"message|a", "message|b"}},
		{name: "both", stream: "data: a\r\n\r\ndata: b\r\n\r\n", want: []string{"message|a", "message|b"}},
		{name: "mixed", stream: "data: a\r\n\rdata: b\n\r\ndata: c\r\n\n", want: []string{"message|a", "message|b", "message|c"}},
		{name: "byte order mark", stream: "\xef\xbb\xbfdata: a\n\n", want: []string{"message|a"}},
		{name: "byte order mark in the middle", stream: "data: a\n\n\xef\xbb\xbfdata: b\n\n", want: []string{"message|a"}},
		{name: "several data lines", stream: "data: a\ndata\ndata: b\ndata:c\n\n", want: []string{"message|a\n\nb\nc"}},
		{name: "one space is not part of the data", stream: "data:  a \n\n", want: []string{"message| a "}},
		{name: "event name", stream: "event: ping\ndata: a\n\ndata: b\n\n", want: []string{"ping|a", "message|b"}},
		{name: "empty event name", stream: "event\ndata: a\n\n", want: []string{"message|a"}},
		{name: "comments and unknown fields", stream: ": hi\n:\nfoo: bar\nDATA: x\ndatax: x\n data: x\ndata: a\n\n", want: []string{"message|a"}},
		{name: "comments only", stream: ": hi\n\n: ho\n\n"},
		{name: "an incomplete event is ignored", stream: "data: a\n\nid: 2\ndata: b\n", want: []string{"message|a"}},
		{name: "an incomplete line is ignored", stream: "data: a\n\ndata: b", want: []string{"message|a"}},
		{name: "id of an event with data", stream: "id: 7\ndata: a\n\n", want: []string{"message|a"}, id: "7"},
		{name: "id of an event without data", stream: "id: 7\ndata:\n\n", id: "7"},
		{name: "id alone", stream: "id:7\n\n", id: "7"},
		{name: "an id remains", stream: "id: 7\n\ndata: a\n\n", want: []string{"message|a"}, id: "7"},
		{name: "an empty id resets the id", stream: "id: 7\n\nid\n\n"},
		{name: "an id with NUL is ignored", stream: "id: 7\n\nid: 8\x00\n\n", id: "7"},
		{name: "an id that is too long is ignored", stream: "id: " + long + "\n\n"},
		{name: "retry", stream: "retry: 500\n\n", retry: 500 * time.Millisecond},
		{name: "retry with more than digits", stream: "retry: 500\nretry: 5s\nretry: -1\nretry: +1\nretry\nretry: 99999999999\n\n", retry: 500 * time.Millisecond},
		{name: "retry of more than a day", stream: "retry: 4000000000\n\n", retry: 24 * time.Hour},
		{name: "long data", stream: "data: " + long + "\ndata: " + long + "\n\ndata: b\n\n", want: []string{"message|" + long + "\n" + long, "message|b"}},
		{name: "long lines of other fields", stream: ": " + long + "\nfoo: " + long + "\ndata: a\n\n", want: []string{"message|a"}},
		{name: "too long", stream: "id: 1\ndata: " + long + long + long + "\ndata: x\n\ndata: b\n\n", want: []string{"too long", "message|b"}, id: "1"},
		{name: "white space is not data", stream: "data:  \n\ndata:\ndata:\n\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, slow := range []func(io.Reader) io.Reader{
				func(r io.Reader) io.Reader { return r }, iotest.OneByteReader, iotest.HalfReader, iotest.DataErrReader,
			} {
				got, events := readAll(t, slow(strings.NewReader(c.stream)), 7*chunkSize)
				require.Equal(t, c.want, got)
				require.Equal(t, c.id, events.LastID)
				require.Equal(t, c.retry, events.Retry)
				events.Free()
			}
		})
	}
}

func TestEventIsReturnedBeforeNextByte(t *testing.T) {
	r, w := io.Pipe()
	events := NewReader(r, 100)
	go w.Write([]byte("data: a\r\r")) // ends when it has been read
	ev, err := events.Next()
	require.NoError(t, err)
	require.Equal(t, "a", string(ev.Data.Bytes))
	broken := errors.New("broken")
	w.CloseWithError(broken)
	_, err = events.Next()
	require.ErrorIs(t, err, broken)
	require.True(t, events.Received)
}

func TestReaderWithoutProgress(t *testing.T) {
	_, err := NewReader(iotest.ErrReader(nil), 100).Next()
	require.ErrorIs(t, err, io.ErrNoProgress)
}

func TestReaderAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector disables pools")
	}
	stream := strings.Repeat(": comment\nevent: message\ndata: {}\ndata: {}\nfoo: bar\n\n", 100)
	var r strings.Reader
	allocs := testing.AllocsPerRun(100, func() {
		r.Reset(stream)
		events := NewReader(&r, 1000)
		defer events.Free()
		for {
			ev, err := events.Next()
			if err != nil {
				return
			}
			ev.Data.Free()
		}
	})
	require.Less(t, allocs, 5.0)
}

// raceEnabled is true if the race detector is enabled.
var raceEnabled bool

var lineEnds = regexp.MustCompile("\r\n|\r|\n")

// simpleEvents splits a stream in the simplest way.
func simpleEvents(stream string, most int) (list []string, id string) {
	lines := lineEnds.Split(strings.TrimPrefix(stream, "\xef\xbb\xbf"), -1)
	name, data, lastID, n := "", "", "", 0
	for _, line := range lines[:len(lines)-1] {
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "":
			switch {
			case len(data) > most:
				list = append(list, "too long")
			case strings.TrimSpace(data) != "":
				list = append(list, map[bool]string{true: "message", false: name}[name == ""]+"|"+data)
			}
			name, data, id, n = "", "", lastID, 0
		case field == "event":
			name = value
		case field == "id" && !strings.Contains(value, "\x00"):
			lastID = value
		case field == "data":
			if n++; n > 1 {
				data += "\n"
			}
			data += value
		}
	}
	return list, id
}

func FuzzEvents(f *testing.F) {
	f.Add("data: a\n\ndata: b\r\n\r\nid: 1\rdata\r\r", uint8(3))
	f.Add("\xef\xbb\xbfevent: x\ndata: {}\ndata: {}\nretry: 10\n\n: c\nid: \x00\n\n", uint8(1))
	f.Add("data: 0123456789012345678901234567890123456789\n\nid:2\n", uint8(200))
	f.Fuzz(func(t *testing.T, stream string, size uint8) {
		if len(stream) > chunkSize {
			t.Skip("simpleEvents supports only fields up to this length")
		}
		const most = 32
		want, id := simpleEvents(stream, most)
		got, events := readAll(t, &pieces{stream, int(size)%7 + 1}, most)
		require.Equal(t, want, got)
		require.Equal(t, id, events.LastID)
		events.Free()
	})
}

// pieces reads a text in pieces of a size.
type pieces struct {
	text string
	size int
}

func (p *pieces) Read(b []byte) (int, error) {
	if p.text == "" {
		return 0, io.EOF
	}
	n := copy(b, p.text[:min(p.size, len(p.text))])
	p.text = p.text[n:]
	return n, nil
}

func BenchmarkEvents(b *testing.B) {
	for _, size := range []int{100, 1 << 20} {
		b.Run(strconv.Itoa(size), func(b *testing.B) {
			stream := "event: message\ndata: " + strings.Repeat("x", size) + "\n\n"
			var r strings.Reader
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				r.Reset(stream)
				events := NewReader(&r, 2<<20)
				ev, err := events.Next()
				if err != nil {
					b.Fatal(err)
				}
				ev.Data.Free()
				events.Free()
			}
		})
	}
}
