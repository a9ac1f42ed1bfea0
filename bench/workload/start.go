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
	"syscall"
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
		{"resident memory of a server with one tool", Bytes, 5, startOf("hello")},
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

// startOnce starts a program, initializes it, and ends it. It adds the costs to the sum. The bytes
// are the maximum of the resident memory.
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
	if err == nil {
		line, err = bufio.NewReader(out).ReadBytes('\n')
	}
	took := time.Since(begin)
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
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		sum.Bytes += float64(usage.Maxrss) * 1024
	}
	return nil
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
