// Package child runs a server under test in its own process, so that the figures do not include the
// driver.
//
// The child runs the same program. It serves on its standard streams or on a loopback port, and
// responds to requests for statistics on two more pipes.
package child

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"

	"github.com/mcpwright/mcp/bench/peer"
)

// role is the environment variable that makes a process a child. Its value is the transport, the
// mode and the peer: "http:2026:go-sdk" or "lines::floor".
const role = "MCP_BENCH_CHILD"

// Main serves and does not return if this process is a child. Call it first in main.
func Main() {
	spec := os.Getenv(role)
	if spec == "" {
		return
	}
	if err := serve(spec); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func serve(spec string) error {
	how, rest, _ := strings.Cut(spec, ":")
	mode, name, _ := strings.Cut(rest, ":")
	p := peer.ByName(name)
	if p == nil {
		return fmt.Errorf("no peer %q", name)
	}
	go serveStats(os.NewFile(3, "requests"), os.NewFile(4, "responses")) // ends this process when the parent ends
	if how == "lines" {
		return p.ServeLines(context.Background(), os.Stdin, os.Stdout)
	}
	h, err := p.HTTP(peer.Mode(mode))
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	return (&http.Server{Handler: h}).Serve(l)
}

// A Child is a server under test.
type Child struct {
	// In and Out are the streams of a child that serves lines.
	In  io.WriteCloser
	Out *bufio.Reader
	// Address is the address of a child that serves HTTP.
	Address string

	cmd       *exec.Cmd
	requests  *os.File
	responses *bufio.Reader
}

// Lines starts a child that serves lines.
func Lines(name string) (*Child, error) { return start("lines::" + name) }

// HTTP starts a child that serves HTTP.
func HTTP(name string, mode peer.Mode) (*Child, error) {
	c, err := start("http:" + string(mode) + ":" + name)
	if err != nil {
		return nil, err
	}
	line, err := c.Out.ReadString('\n')
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s does not listen: %w", name, err), c.Close())
	}
	c.Address = strings.TrimSpace(line)
	return c, nil
}

func start(spec string) (*Child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), role+"="+spec)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	childRequests, requests, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	responses, childResponses, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.ExtraFiles = []*os.File{childRequests, childResponses}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &Child{
		In: in, Out: bufio.NewReaderSize(out, 64<<10), cmd: cmd,
		requests: requests, responses: bufio.NewReader(responses),
	}, errors.Join(childRequests.Close(), childResponses.Close())
}

// Stats returns the statistics of the child. If collect is set, the child collects its garbage first.
func (c *Child) Stats(collect bool) (Stats, error) {
	request := "stats\n"
	if collect {
		request = "collect\n"
	}
	if _, err := io.WriteString(c.requests, request); err != nil {
		return Stats{}, err
	}
	line, err := c.responses.ReadBytes('\n')
	if err != nil {
		return Stats{}, err
	}
	var s Stats
	return s, json.Unmarshal(line, &s)
}

// Close ends the child.
func (c *Child) Close() error {
	err := errors.Join(c.In.Close(), c.requests.Close())
	_ = c.cmd.Wait() // the exit status does not matter
	return err
}
