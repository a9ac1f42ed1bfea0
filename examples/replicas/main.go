// Command replicas runs three replicas of a server as processes, behind a balancer that sends each
// request to the next one, and a client that calls a tool each second. Kill a replica and watch:
//
//	go run ./examples/replicas [-addr=127.0.0.1:8080]
//
// The replicas share their sessions in an embedded NATS server. A replica that ends is started again.
package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/mcpwright/mcp/runtime/mcpclient"
)

const replicas = 3

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "the address of the balancer")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	run := supervise
	if os.Getenv(envName) != "" {
		run = func(ctx context.Context, _ string, out io.Writer) error { return serveReplica(ctx, out) }
	}
	if err := run(ctx, *addr, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// supervise runs everything until ctx ends, and prints to out.
func supervise(ctx context.Context, addr string, out io.Writer) error {
	dir, err := os.MkdirTemp("", "replicas")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	nats, err := startNATS(dir)
	if err != nil {
		return err
	}
	defer nats.WaitForShutdown()
	defer nats.Shutdown()

	b := &balancer{hosts: make([]string, replicas)}
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	front := &http.Server{Handler: b.handler()}
	go front.Serve(listener) // ends with Close
	defer front.Close()

	var all sync.WaitGroup
	defer all.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	key := make([]byte, 32)
	rand.Read(key) // never fails
	output := &lockedWriter{w: out}
	for i := range replicas {
		env := []string{fmt.Sprintf("%s=%d", envName, i+1), envNATS + "=" + nats.ClientURL(), envKey + "=" + hex.EncodeToString(key)}
		all.Go(func() { keepRunning(ctx, env, i, b, output) }) // ends with ctx
	}
	callForever(ctx, "http://"+listener.Addr().String()+"/mcp", output)
	return nil
}

// startNATS starts a NATS server that writes each change to the disk before it acknowledges it.
func startNATS(dir string) (*server.Server, error) {
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: dir, SyncAlways: true, NoSigs: true})
	if err != nil {
		return nil, err
	}
	s.Start()
	if !s.ReadyForConnections(10 * time.Second) {
		return nil, errors.New("NATS has not started")
	}
	return s, nil
}

// keepRunning runs a replica, and starts it again when it ends, until ctx ends.
func keepRunning(ctx context.Context, env []string, i int, b *balancer, out io.Writer) {
	for ctx.Err() == nil {
		if err := runReplica(ctx, env, i, b, out); err != nil && ctx.Err() == nil {
			fmt.Fprintf(out, "replica %d has ended: %v\n", i+1, err)
		}
		b.set(i, "")
		select {
		case <-time.After(5 * time.Second):
		case <-ctx.Done():
		}
	}
}

// runReplica runs a replica until it ends. When ctx ends, the replica hands its sessions over.
func runReplica(ctx context.Context, env []string, i int, b *balancer, out io.Writer) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	child := exec.CommandContext(ctx, program)
	child.Env, child.Stderr = append(os.Environ(), env...), os.Stderr
	child.Cancel = func() error { return child.Process.Signal(syscall.SIGTERM) }
	child.WaitDelay = 10 * time.Second
	stdin, err := child.StdinPipe() // its end ends the replica, also if this process is killed
	if err != nil {
		return err
	}
	defer stdin.Close()
	stdout, err := child.StdoutPipe()
	if err != nil {
		return err
	}
	if err := child.Start(); err != nil {
		return err
	}
	host, err := bufio.NewReader(stdout).ReadString('\n')
	if err == nil {
		b.set(i, strings.TrimSpace(host))
		fmt.Fprintf(out, "replica %d runs; to end it: kill -9 %d\n", i+1, child.Process.Pid)
	}
	return child.Wait()
}

// callForever calls a tool each second in one session, until ctx ends.
func callForever(ctx context.Context, url string, out io.Writer) {
	var c *mcpclient.Client
	for n := 1; ctx.Err() == nil; n++ {
		var err error
		if c == nil {
			c, err = mcpclient.Connect(ctx, mcpclient.URL(url), &mcpclient.Options{Mode: mcpclient.Handshake, Logger: slog.New(slog.DiscardHandler)})
		}
		if err == nil {
			var text string
			if text, err = mcpclient.CallTool[string](ctx, c, "hello", nil); err == nil {
				fmt.Fprintf(out, "call %d: %s\n", n, text)
			}
		}
		if err != nil && ctx.Err() == nil {
			fmt.Fprintf(out, "call %d failed: %v\n", n, err)
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
	}
	if c != nil {
		c.Close()
	}
}

// lockedWriter is a writer for several goroutines.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(b)
}
