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

// A fixture is the program under test. A server runs during all test runs. The suite
// starts a client once for each scenario.
type fixture struct {
	side, command, address string
	// stopTimeout limits the time for a server to exit after an interrupt.
	stopTimeout time.Duration

	server *exec.Cmd
	stderr bytes.Buffer
	exited chan struct{} // closed when the server has exited
}

// startFixture starts the fixture of a side, if it is a server. It builds the module's
// fixture if command is empty. The arguments are added to the command.
func startFixture(ctx context.Context, side, command, arguments, out string) (*fixture, error) {
	if command == "" {
		path, err := filepath.Abs(filepath.Join(out, side+"-fixture"))
		if err != nil {
			return nil, err
		}
		build := exec.CommandContext(ctx, "go", "build", "-o", path, "github.com/mcpwright/mcp/internal/conformance/"+side)
		if text, err := build.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("build the %s: %w\n%s", side, err, text)
		}
		command = strconv.Quote(path)
	}
	f := &fixture{side: side, command: command + arguments, stopTimeout: 5 * time.Second}
	if side == "client" {
		return f, nil
	}
	return f, f.listen(ctx)
}

// listen starts the server on a free port, and waits until it accepts connections.
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
	f.exited = make(chan struct{})
	f.server = exec.CommandContext(ctx, "sh", "-c", "exec "+f.command+" -http="+f.address)
	f.server.Stderr = &f.stderr
	if err := f.server.Start(); err != nil {
		return fmt.Errorf("start the server: %w", err)
	}
	go func() { // ends when the server exits
		defer close(f.exited)
		_ = f.server.Wait()
	}()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if c, err := net.Dial("tcp", f.address); err == nil {
			return c.Close()
		}
		if err := f.checkRunning(); err != nil {
			return err
		}
	}
	f.stop()
	return fmt.Errorf("the server does not listen on %s 20 seconds after its start", f.address)
}

// checkRunning returns an error if the server has exited.
func (f *fixture) checkRunning() error {
	if f.server == nil {
		return nil
	}
	select {
	case <-f.exited:
		return fmt.Errorf("the server has exited (%s)\n%s", f.server.ProcessState, tail(f.stderr.Bytes()))
	default:
		return nil
	}
}

// stop interrupts the server. It kills the server after stopTimeout.
func (f *fixture) stop() {
	if f.server == nil {
		return
	}
	if err := f.server.Process.Signal(os.Interrupt); err != nil && !errors.Is(err, os.ErrProcessDone) {
		_ = f.server.Process.Kill()
	}
	select {
	case <-f.exited:
	case <-time.After(f.stopTimeout):
		_ = f.server.Process.Kill()
		<-f.exited
	}
}

// target returns the suite's arguments for the program under test. A client is started
// by recordExit, which writes its exit status into dir.
func (f *fixture) target(dir string) ([]string, error) {
	if f.side == "server" {
		return []string{"--url", "http://" + f.address + "/mcp"}, nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	line := []string{strconv.Quote(self), recordExitVerb, strconv.Quote(dir), "'" + strings.ReplaceAll(f.command, "'", `'\''`) + "'"}
	return []string{"--command", strings.Join(line, " ")}, nil
}

// recordExitVerb is the first argument of the command that starts a client and records
// its exit status, which the suite does not report: gate record-exit DIR COMMAND URL.
const recordExitVerb = "record-exit"

// exitFile returns the file for the exit status of a scenario's client.
func exitFile(dir, scenario string) string {
	return filepath.Join(dir, "exit-"+strings.ReplaceAll(scenario, "/", "."))
}

// recordExit starts a client, writes its exit status to a file, and returns it.
func recordExit(args []string) int {
	if len(args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: gate record-exit DIR COMMAND URL")
		return 2
	}
	cmd := exec.Command("sh", "-c", args[1]+` "$@"`, "client", args[2])
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	status := 0
	if err := cmd.Run(); err != nil {
		status = 1
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			status = exit.ExitCode()
		} else {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	file := exitFile(args[0], os.Getenv("MCP_CONFORMANCE_SCENARIO"))
	if err := os.WriteFile(file, []byte(strconv.Itoa(status)), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return status
}

// tail returns the last lines of a program's output.
func tail(out []byte) []byte {
	lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	return bytes.Join(lines[max(0, len(lines)-15):], []byte("\n"))
}
