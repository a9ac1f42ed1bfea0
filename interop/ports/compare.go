package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"
)

// callTimeout limits the time for all calls of a server.
const callTimeout = 2 * time.Minute

// starts is the number of processes from whose times the median is taken.
const starts = 15

// timeStarts prints the median times from the start of the servers to their first responses.
func (s *server) timeStarts(ctx context.Context, binaries []string) error {
	times := make([][]time.Duration, len(binaries))
	for range starts {
		for i, binary := range binaries {
			begun := time.Now()
			var taken time.Duration
			if _, err := s.callAll(ctx, binary, handshake[:1], func() { taken = time.Since(begun) }); err != nil {
				return err
			}
			times[i] = append(times[i], taken)
		}
	}
	for i, name := range []string{"original", "port"} {
		slices.Sort(times[i])
		fmt.Printf("  the %s responds after %s\n", name, times[i][starts/2].Round(100*time.Microsecond))
	}
	return nil
}

// call starts a server, sends it the calls one after another, and returns their responses.
func (s *server) call(ctx context.Context, binary string) (responses []any, err error) {
	return s.callAll(ctx, binary, append(slices.Clone(handshake), s.calls...), func() {})
}

// callAll sends calls to a new process of a server. It calls responded after each response.
func (s *server) callAll(ctx context.Context, binary string, calls []string, responded func()) (responses []any, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, s.args...)
	cmd.Env = append(os.Environ(), s.env...)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	defer func() {
		in.Close()
		if waited := cmd.Wait(); err == nil && waited != nil {
			err = fmt.Errorf("the server ended with %w\n%s", waited, stderr.Bytes())
		}
	}()
	lines := bufio.NewReader(out)
	for id, c := range calls {
		response, err := exchange(in, lines, id, c)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("call %q: %w", c, err), ctx.Err())
		}
		responded()
		responses = append(responses, response)
	}
	return responses, nil
}

// exchange sends a request or a notification, and returns the response, or nil for a notification.
func exchange(in io.Writer, out *bufio.Reader, id int, call string) (any, error) {
	method, params, _ := strings.Cut(call, " ")
	message := map[string]any{"jsonrpc": "2.0", "method": method, "params": json.RawMessage(params)}
	isRequest := !strings.HasPrefix(method, "notifications/")
	if isRequest {
		message["id"] = id
	}
	if err := json.NewEncoder(in).Encode(message); err != nil || !isRequest {
		return nil, err
	}
	for {
		line, err := out.ReadBytes('\n')
		if err != nil {
			return nil, err
		}
		var response map[string]any
		if err := json.Unmarshal(line, &response); err != nil {
			return nil, fmt.Errorf("the server wrote %q", line)
		}
		if response["id"] == float64(id) && response["method"] == nil {
			return response, nil
		}
	}
}

// compare prints the differences of the responses that are not explained, and returns their number.
// An explanation without a difference counts as one.
func (s *server) compare(original, port []any) (unexplained int) {
	used := map[string]int{}
	equal, requests := 0, 0
	for i, c := range append(slices.Clone(handshake), s.calls...) {
		if original[i] == nil && port[i] == nil {
			continue // a notification
		}
		requests++
		method, _, _ := strings.Cut(c, " ")
		found := differences(original[i], port[i], method+":")
		if len(found) == 0 {
			equal++
		}
		for _, d := range found {
			why := s.explain(d.path)
			if used[why]++; why == "" {
				unexplained++
				fmt.Printf("  %s\n    %s\n    original %s\n    port     %s\n", c, d.path, d.original, d.port)
			}
		}
	}
	fmt.Printf("  %d of %d responses are equal\n", equal, requests)
	for _, e := range s.differences {
		fmt.Printf("  %d members: %s\n", used[e.why], e.why)
		if used[e.why] == 0 {
			unexplained++
		}
	}
	return unexplained
}

// explain returns the reason why a member may differ, or "".
func (s *server) explain(path string) string {
	for _, e := range s.differences {
		if e.path.MatchString(path) {
			return e.why
		}
	}
	return ""
}

// difference is a member that differs. The values are JSON, or empty if a side has no member.
type difference struct{ path, original, port string }

var pointers = regexp.MustCompile(`0x[0-9a-f]+`)

// differences returns the differences of two decoded JSON values. Addresses in texts are ignored.
func differences(original, port any, path string) []difference {
	a, aOK := original.(map[string]any)
	b, bOK := port.(map[string]any)
	if aOK && bOK {
		var all []difference
		names := maps.Clone(a)
		maps.Copy(names, b)
		for _, name := range slices.Sorted(maps.Keys(names)) {
			below := path + "/" + name
			if x, y := member(a, name), member(b, name); x == "" || y == "" {
				all = append(all, difference{below, x, y})
			} else {
				all = append(all, differences(a[name], b[name], below)...)
			}
		}
		return all
	}
	if x, y, ok := lists(original, port); ok {
		var all []difference
		for i := range x {
			all = append(all, differences(x[i], y[i], path+"/*")...)
		}
		return all
	}
	x, y := encode(original), encode(port)
	if reflect.DeepEqual(original, port) || pointers.ReplaceAllString(x, "0x") == pointers.ReplaceAllString(y, "0x") {
		return nil
	}
	return []difference{{path, x, y}}
}

// lists reports whether two values are lists of the same length, and returns them.
func lists(original, port any) (x, y []any, ok bool) {
	x, xOK := original.([]any)
	y, yOK := port.([]any)
	return x, y, xOK && yOK && len(x) == len(y)
}

// member returns a member as JSON, or "" if it is missing.
func member(object map[string]any, name string) string {
	if value, ok := object[name]; ok {
		return encode(value)
	}
	return ""
}

func encode(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(data)
}
