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
	}
}

// programs are the folders of the programs, by the name of the peer.
var programs = map[string]string{"floor": "floor", "mcpwright": "ours", "mcp-go": "mcpgo", "go-sdk": "gosdk"}

// build builds the program of a peer in a folder of its own, and returns its path.
func build(ctx context.Context, p peer.Peer) (string, error) {
	name, ok := programs[p.Name()]
	if !ok {
		return "", peer.ErrUnsupported
	}
	folder, err := os.MkdirTemp("", "bench-start")
	if err != nil {
		return "", err
	}
	path := filepath.Join(folder, name)
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", path, "github.com/mcpwright/mcp/bench/start/"+name)
	if out, err := cmd.CombinedOutput(); err != nil {
		_ = os.RemoveAll(folder)
		return "", fmt.Errorf("build %s: %w: %s", name, err, bytes.TrimSpace(out))
	}
	return path, nil
}

func startOf(tools string) func(context.Context, peer.Peer) (*Subject, error) {
	return func(ctx context.Context, p peer.Peer) (*Subject, error) {
		path, err := build(ctx, p)
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
	path, err := build(ctx, p)
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
