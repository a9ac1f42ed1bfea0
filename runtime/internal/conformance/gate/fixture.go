package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// A fixture is the program under test. A server runs for all legs; a client is
// started by the suite, once for each scenario.
type fixture struct {
	side, command, address string
	// patience is how long a server may take to end when it is interrupted.
	patience time.Duration

	server *exec.Cmd
	stderr bytes.Buffer
	ended  chan struct{} // closed when the server has ended
}

// startFixture builds this module's fixture unless command names another
// program, and starts it if it is a server.
func startFixture(ctx context.Context, side, command, out string) (*fixture, error) {
	if command == "" {
		path, err := filepath.Abs(filepath.Join(out, side+"-fixture"))
		if err != nil {
			return nil, err
		}
		build := exec.CommandContext(ctx, "go", "build", "-o", path, "github.com/mcpwright/mcp/runtime/internal/conformance/"+side)
		if text, err := build.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("building the %s: %w\n%s", side, err, text)
		}
		command = strconv.Quote(path)
	}
	f := &fixture{side: side, command: command, patience: 5 * time.Second}
	if side == "client" {
		return f, nil
	}
	return f, f.listen(ctx)
}

// listen starts the server on a free port and waits until it can be reached.
func (f *fixture) listen(ctx context.Context) error {
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		return err
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	if err := l.Close(); err != nil {
		return err
	}
	f.address = "localhost:" + port
	f.ended = make(chan struct{})
	f.server = exec.CommandContext(ctx, "sh", "-c", "exec "+f.command+" -http="+f.address)
	f.server.Stderr = &f.stderr
	if err := f.server.Start(); err != nil {
		return fmt.Errorf("starting the server: %w", err)
	}
	go func() { // ends with the server
		defer close(f.ended)
		_ = f.server.Wait()
	}()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if c, err := net.Dial("tcp", f.address); err == nil {
			return c.Close()
		}
		if err := f.alive(); err != nil {
			return err
		}
	}
	f.stop()
	return fmt.Errorf("nothing listens on %s 20 s after the server's start", f.address)
}

// alive tells why a server has ended, nil while it runs.
func (f *fixture) alive() error {
	if f.server == nil {
		return nil
	}
	select {
	case <-f.ended:
		return fmt.Errorf("the server ended by itself (%s)\n%s", f.server.ProcessState, tail(f.stderr.Bytes()))
	default:
		return nil
	}
}

func (f *fixture) stop() {
	if f.server == nil {
		return
	}
	if err := f.server.Process.Signal(os.Interrupt); err != nil && !errors.Is(err, os.ErrProcessDone) {
		_ = f.server.Process.Kill()
	}
	select {
	case <-f.ended:
	case <-time.After(f.patience):
		_ = f.server.Process.Kill()
		<-f.ended
	}
}

// target is what the suite is told about the program under test. A client runs
// under the eyes of a witness, which writes its exits into dir.
func (f *fixture) target(dir string) ([]string, error) {
	if f.side == "server" {
		return []string{"--url", "http://" + f.address + "/mcp"}, nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	line := []string{strconv.Quote(self), witnessVerb, strconv.Quote(dir), "'" + strings.ReplaceAll(f.command, "'", `'\''`) + "'"}
	return []string{"--command", strings.Join(line, " ")}, nil
}
