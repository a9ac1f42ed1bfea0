//go:build unix

package stdio_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/stdio"
)

// The child of every test is the test binary itself, in one of the roles below.
const (
	roleVariable   = "STDIO_TEST_ROLE"
	socketVariable = "STDIO_TEST_SOCKET" // path of the socket that a descendant connects to
)

var roles = map[string]func(){
	"server":                   func() { fatal(stdio.Serve(context.Background(), tools, nil)) },
	"ignoring EOF and SIGTERM": func() { signal.Ignore(syscall.SIGTERM); serveAndStay() },
	"ignoring EOF":             serveAndStay,
	"flood":                    serveAndFlood,
	"garbage":                  writeGarbage,
	"descendant":               connectAndStay,
	"twice":                    serveTwice,
	"cancelled":                serveUntilCancelled,
	"repeated":                 func() { serveUntilCancelled(); serveUntilCancelled() },
	"print":                    serveAndPrint,
	"minimal":                  serveMinimal,
	"weather":                  serveWeather,
	"not reading":              forever,
	"closing output":           func() { os.Stdout.Close(); forever() },
}

func TestMain(m *testing.M) {
	if role, ok := roles[os.Getenv(roleVariable)]; ok {
		role()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func fatal(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "fatal:", err)
		os.Exit(1)
	}
}

func forever() {
	for {
		time.Sleep(time.Hour)
	}
}

func serveAndStay() {
	fatal(stdio.Serve(context.Background(), tools, nil))
	forever()
}

// serveAndFlood writes more than the capacity of a pipe before it ends.
func serveAndFlood() {
	fatal(stdio.Serve(context.Background(), tools, nil))
	_, err := io.Copy(os.Stdout, strings.NewReader(strings.Repeat("goodbye\n", 1<<20)))
	fatal(err)
}

// serveTwice calls Serve in a handler and responds with its error.
func serveTwice() {
	fatal(stdio.Serve(context.Background(), peer.HandlerFunc(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
		err := stdio.Serve(ctx, tools, nil)
		return text(fmt.Sprint(errors.Is(err, stdio.ErrClaimed))), nil
	}), nil))
}

// serveUntilCancelled cancels its own context when it receives the first message. The
// client does not close the input.
func serveUntilCancelled() {
	ctx, cancel := context.WithCancelCause(context.Background())
	errCancelled := errors.New("cancelled by the handler")
	err := stdio.Serve(ctx, peer.HandlerFunc(func(context.Context, *peer.Inbound) (peer.Reply, error) {
		cancel(errCancelled)
		return text("bye"), nil
	}), nil)
	fmt.Fprintln(os.Stderr, err)
	if !errors.Is(err, errCancelled) {
		os.Exit(1)
	}
}

// serveAndPrint prints to standard output after Serve has restored it.
func serveAndPrint() {
	fatal(stdio.Serve(context.Background(), tools, nil))
	fmt.Println("after Serve")
}

// writeGarbage responds to every line and writes garbage around the response.
func writeGarbage() {
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		_, id, _ := strings.Cut(in.Text(), `"id":`)
		id, _, _ = strings.Cut(id, ",")
		fmt.Println("Starting the server ...\r")
		fmt.Println(strings.Repeat("x", 10<<20))
		fmt.Printf("\r\n\n"+`{"jsonrpc":"2.0","id":%s,"result":{}}`+"\r\n", id)
	}
}

// connectAndStay connects to the socket of the test and does not end. The connection
// closes when this process is killed.
func connectAndStay() {
	signal.Ignore(syscall.SIGTERM)
	conn, err := net.Dial("unix", os.Getenv(socketVariable))
	fatal(err)
	fmt.Fprintln(conn, "connected")
	forever()
}

// tools is the handler of the children.
var tools = peer.HandlerFunc(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
	if in.Method != mcp.MethodCallTool {
		return peer.Reply{Result: &mcp.EmptyResult{}}, nil
	}
	var req mcp.CallToolRequest
	if err := in.Decode(nil, &req); err != nil {
		return peer.Reply{}, err
	}
	switch req.Name {
	case "die":
		fmt.Fprintln(os.Stderr, "panic: out of cheese")
		os.Exit(3)
	case "hang":
		<-ctx.Done()
		return peer.Reply{}, context.Cause(ctx)
	case "print":
		fmt.Println("printed by tool")
		c := exec.Command("/bin/sh", "-c", "echo printed by child; for fd in 3 4 5 6 7 8 9; do (echo leak >&$fd) 2>/dev/null; done; cat")
		c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
		fatal(c.Run())
		left, err := io.ReadAll(os.Stdin)
		return text(fmt.Sprint(len(left), err)), nil
	case "spawn":
		return text("done"), spawn()
	case "exit":
		os.Exit(4)
	case "flood stderr":
		line := strings.Repeat("!", 1023) + "\n"
		for range 16 << 10 {
			os.Stderr.WriteString(line)
		}
	case "ping":
		_, err := peer.SendRequest(ctx, in.Back, &mcp.PingRequest{})
		return text(fmt.Sprint(err)), nil
	case "environment":
		return text(strings.Join(append(os.Args[1:], os.Environ()...), "\n")), nil
	}
	return text("done"), nil
})

// spawn starts a descendant that holds the output pipes of this process open.
func spawn() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	c := exec.Command(self)
	c.Env = append(os.Environ(), roleVariable+"=descendant")
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	return c.Start()
}

func text(s string) peer.Reply {
	return peer.Reply{Result: &mcp.CallToolResult{Content: []mcp.ContentBlock{&mcp.TextContent{Text: s}}}}
}
