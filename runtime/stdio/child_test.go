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

// The child of every test is the test binary itself, in one of these roles.
const (
	roleVariable = "STDIO_TEST_ROLE"
	homeVariable = "STDIO_TEST_HOME" // where a descendant calls home
)

var roles = map[string]func(){
	"server":     func() { fatal(stdio.Serve(context.Background(), tools, nil)) },
	"stubborn":   func() { signal.Ignore(syscall.SIGTERM); serveAndStay() },
	"staying":    serveAndStay,
	"flooding":   serveAndFlood,
	"babbling":   babble,
	"descendant": callHome,
	"twice":      serveTwice,
	"cancelled":  serveUntilCancelled,
	"again":      func() { serveUntilCancelled(); serveUntilCancelled() },
	"afterwards": serveAndPrint,
	"floor":      floor,
	"weather":    serveWeather,
	"unreading":  func() { forever() },
	"silent":     func() { os.Stdout.Close(); forever() },
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

// serveAndFlood writes more than a pipe holds before it ends.
func serveAndFlood() {
	fatal(stdio.Serve(context.Background(), tools, nil))
	_, err := io.Copy(os.Stdout, strings.NewReader(strings.Repeat("good bye\n", 1<<20)))
	fatal(err)
}

// serveTwice answers what the second Serve says.
func serveTwice() {
	fatal(stdio.Serve(context.Background(), peer.HandlerFunc(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
		err := stdio.Serve(ctx, tools, nil)
		return text(fmt.Sprint(errors.Is(err, stdio.ErrClaimed))), nil
	}), nil))
}

// serveUntilCancelled ends itself with the first message, although the client
// keeps its end open.
func serveUntilCancelled() {
	ctx, cancel := context.WithCancelCause(context.Background())
	enough := errors.New("that is enough")
	err := stdio.Serve(ctx, peer.HandlerFunc(func(context.Context, *peer.Inbound) (peer.Reply, error) {
		cancel(enough)
		return text("bye"), nil
	}), nil)
	fmt.Fprintln(os.Stderr, err)
	if !errors.Is(err, enough) {
		os.Exit(1)
	}
}

// serveAndPrint uses the standard output again when it has been given back.
func serveAndPrint() {
	fatal(stdio.Serve(context.Background(), tools, nil))
	fmt.Println("mine again")
}

// babble answers every line, with rubbish around the answer.
func babble() {
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		_, id, _ := strings.Cut(in.Text(), `"id":`)
		id, _, _ = strings.Cut(id, ",")
		fmt.Println("Starting the server ...\r")
		fmt.Println(strings.Repeat("x", 10<<20))
		fmt.Printf("\r\n\n"+`{"jsonrpc":"2.0","id":%s,"result":{}}`+"\r\n", id)
	}
}

// callHome keeps a connection open for as long as it lives.
func callHome() {
	signal.Ignore(syscall.SIGTERM)
	conn, err := net.Dial("unix", os.Getenv(homeVariable))
	fatal(err)
	fmt.Fprintln(conn, "here")
	forever()
}

// tools is the handler of the children. Each tool does what tests want.
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
		fmt.Println("stray print")
		c := exec.Command("/bin/sh", "-c", "echo stray child; for fd in 3 4 5 6 7 8 9; do (echo leak >&$fd) 2>/dev/null; done; cat")
		c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
		fatal(c.Run())
		left, err := io.ReadAll(os.Stdin)
		return text(fmt.Sprint(len(left), err)), nil
	case "multiply":
		return text("done"), multiply()
	case "leave":
		os.Exit(4)
	case "shout":
		line := strings.Repeat("!", 1023) + "\n"
		for range 16 << 10 {
			os.Stderr.WriteString(line)
		}
	case "ask":
		_, err := peer.SendRequest(ctx, in.Back, &mcp.PingRequest{})
		return text(fmt.Sprint(err)), nil
	case "describe":
		return text(strings.Join(append(os.Args[1:], os.Environ()...), "\n")), nil
	}
	return text("done"), nil
})

// multiply leaves a descendant behind that holds all pipes.
func multiply() error {
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
