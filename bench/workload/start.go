package workload

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/mcpwright/mcp/bench/peer"
)

// starts measures programs from their start to their first response. They are built first.
func starts() []Workload {
	return []Workload{
		{"start of a server with one tool, to the first response", Time, 5, startOf("hello")},
		{"start of a server with 100 raw tools, to the first response", Time, 5, startOf("raw")},
		{"start of a server with 100 typed tools, to the first response", Time, 5, startOf("typed")},
		{"processor time of a server with one tool, from start to end", CPU, 5, startOf("hello")},
		{"resident memory of a server with one tool, after a call", Bytes, 5, startOf("hello")},
		{"size of a server with one tool, stripped", Bytes, 1, sizeOf},
		{"processor time to build a server with one tool", CPU, 1, buildOf},
	}
}

// programs are the folders of the programs, by the name of the peer.
var programs = map[string]string{"floor": "floor", "mcpwright": "ours", "mcp-go": "mcpgo", "go-sdk": "gosdk"}

// programOf returns the import path of the program of a peer that has the tools.
func programOf(p peer.Peer, tools string) (string, error) {
	name, ok := programs[p.Name()]
	switch {
	case !ok:
		return "", peer.ErrUnsupported
	case tools == "hello" && name != "floor":
		name = "hello/" + name
	}
	return "github.com/mcpwright/mcp/bench/start/" + name, nil
}

// build builds the program of a peer in a folder of its own, and returns its path.
func build(ctx context.Context, p peer.Peer, tools string) (string, error) {
	program, err := programOf(p, tools)
	if err != nil {
		return "", err
	}
	folder, err := os.MkdirTemp("", "bench-start")
	if err != nil {
		return "", err
	}
	to := filepath.Join(folder, filepath.Base(program))
	if _, err := goBuild(ctx, "", "-ldflags=-s -w", "-o", to, program); err != nil {
		_ = os.RemoveAll(folder)
		return "", err
	}
	return to, nil
}

// goBuild runs go build, with its own cache if the folder of one is given, and returns the processor
// time that it and its children took.
func goBuild(ctx context.Context, cache string, args ...string) (time.Duration, error) {
	cmd := exec.CommandContext(ctx, "go", append([]string{"build", "-trimpath"}, args...)...)
	if cache != "" {
		cmd.Env = append(cmd.Environ(), "GOCACHE="+cache)
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("go build %s: %w: %s", args[len(args)-1], err, bytes.TrimSpace(out))
	}
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
}

// buildOf measures the build of a program whose cache has only the packages of the standard library.
func buildOf(ctx context.Context, p peer.Peer) (*Subject, error) {
	program, err := programOf(p, "hello")
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "bench-build")
	if err != nil {
		return nil, err
	}
	s := &Subject{
		Run: func(n int) (Sample, error) {
			var sum Sample
			for range n {
				took, err := buildOnce(ctx, folder, program)
				if err != nil {
					return Sample{}, err
				}
				sum.CPU += float64(took)
			}
			return Sample{CPU: sum.CPU / float64(n)}, nil
		},
		Close: func() { _ = os.RemoveAll(folder) },
	}
	if err := buildStandard(ctx, program); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// standard is a build cache that has only packages of the standard library. It stays, because filling it
// takes longer than the workload.
var standard = filepath.Join(os.TempDir(), "mcpwright-bench-"+runtime.Version())

// buildStandard builds the packages of the standard library that a program needs.
func buildStandard(ctx context.Context, program string) error {
	list := exec.CommandContext(ctx, "go", "list", "-deps", "-f", `{{if and .Standard (ne .ImportPath "unsafe")}}{{.ImportPath}}{{end}}`, program)
	out, err := list.Output()
	if err != nil {
		return fmt.Errorf("go list %s: %w", program, err)
	}
	_, err = goBuild(ctx, standard, strings.Fields(string(out))...)
	return err
}

// buildOnce builds a program with a copy of the cache of the standard library.
func buildOnce(ctx context.Context, folder, path string) (time.Duration, error) {
	cache := filepath.Join(folder, "cache")
	program := filepath.Join(folder, "program")
	for _, old := range []string{cache, program} { // go build does not link a program that exists
		if err := os.RemoveAll(old); err != nil {
			return 0, err
		}
	}
	if err := os.CopyFS(cache, os.DirFS(standard)); err != nil {
		return 0, err
	}
	return goBuild(ctx, cache, "-o", program, path)
}

func startOf(tools string) func(context.Context, peer.Peer) (*Subject, error) {
	return func(ctx context.Context, p peer.Peer) (*Subject, error) {
		path, err := build(ctx, p, tools)
		if err != nil {
			return nil, err
		}
		return &Subject{
			Apart: true,
			Run: func(n int) (Sample, error) {
				var sum Sample
				for range n {
					if err := startOnce(ctx, &sum, path, tools); err != nil {
						return Sample{}, err
					}
				}
				per := float64(n)
				return Sample{Time: sum.Time / per, CPU: sum.CPU / per, Bytes: sum.Bytes / per}, nil
			},
			Close: func() { _ = os.RemoveAll(filepath.Dir(path)) },
		}, nil
	}
}

// call calls the tool of hello. Other programs respond with an error.
const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"greet","arguments":{"name":"Ada"}}}`

// startOnce starts a program, initializes it, calls a tool, and ends it. It adds the costs to the sum.
// The time is that to the first response, and the bytes are the resident memory after the call.
func startOnce(ctx context.Context, sum *Sample, path, tools string) error {
	cmd := exec.CommandContext(ctx, path, tools)
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return err
	}
	_, err = io.WriteString(in, peer.Initialize+"\n")
	var line []byte
	lines := bufio.NewReader(out)
	if err == nil {
		line, err = lines.ReadBytes('\n')
	}
	took := time.Since(begin)
	if err == nil {
		_, err = io.WriteString(in, peer.Initialized+"\n"+call+"\n")
	}
	if err == nil {
		_, err = lines.ReadBytes('\n')
	}
	resident, statErr := residentOf(cmd.Process.Pid)
	if err == nil {
		err = statErr
	}
	_ = in.Close()
	if waitErr := cmd.Wait(); err == nil {
		err = waitErr
	}
	if err == nil && !bytes.Contains(line, []byte(`"serverInfo"`)) {
		err = fmt.Errorf("unexpected response %q", line)
	}
	if err != nil {
		return fmt.Errorf("start %s: %w", filepath.Base(path), err)
	}
	sum.Time += float64(took)
	sum.CPU += float64(cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime())
	sum.Bytes += resident
	return nil
}

// residentOf returns the resident memory of a process. The usage of resources that the system reports at
// its end does not help: on Linux its maximum includes the process that has started it.
func residentOf(pid int) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0, fmt.Errorf("read the resident memory: %w", err)
	}
	var total, resident int
	if _, err := fmt.Sscan(string(text), &total, &resident); err != nil {
		return 0, fmt.Errorf("read the resident memory: %w", err)
	}
	return float64(resident * os.Getpagesize()), nil
}

func sizeOf(ctx context.Context, p peer.Peer) (*Subject, error) {
	path, err := build(ctx, p, "hello")
	if err != nil {
		return nil, err
	}
	return &Subject{
		Run: func(int) (Sample, error) {
			info, err := os.Stat(path)
			if err != nil {
				return Sample{}, err
			}
			return Sample{Bytes: float64(info.Size())}, nil
		},
		Close: func() { _ = os.RemoveAll(filepath.Dir(path)) },
	}, nil
}
