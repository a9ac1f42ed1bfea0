package mcptest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/internal/contract"
	"github.com/mcpwright/mcp/runtime/peer"
)

// UpdateContracts is the environment variable that makes [Contract] write its files, like the flag
// -update.
const UpdateContracts = "MCPTEST_UPDATE"

// Contract compares what a server offers with a file, which it reads in the newest revision of the
// protocol that the server supports. The test fails if a change is breaking, or if its effect on users
// cannot be decided. It also fails if other changes are missing in the file, so that the file and its
// history are complete. The failure lists the changes and how to accept them.
//
// Accept changes with the environment variable MCPTEST_UPDATE=1, which writes the file. If the test
// program defines a flag -update of type bool, that flag does the same:
//
//	var _ = flag.Bool("update", false, "write the files in testdata")
//
// Contract defines no flag itself, because two definitions of a flag would panic. The command mcpwright
// writes the same files (mcpwright lock) and compares them (mcpwright diff).
func Contract(t TB, s Server, file string) {
	t.Helper()
	now, err := offered(t, s)
	if err != nil {
		t.Fatalf("read what the server offers: %v", err)
	}
	data, err := now.Encode()
	if err != nil {
		t.Fatalf("encode the contract: %v", err)
	}
	if updating() {
		if err := writeContract(file, data); err != nil {
			t.Fatalf("write the contract: %v", err)
		}
		return
	}
	if err := compareContract(file, now); err != nil {
		t.Errorf("%v", err)
	}
}

// updating reports whether files are written.
func updating() bool {
	if os.Getenv(UpdateContracts) != "" && os.Getenv(UpdateContracts) != "0" {
		return true
	}
	f := flag.Lookup("update")
	if f == nil {
		return false
	}
	getter, ok := f.Value.(flag.Getter)
	return ok && getter.Get() == true
}

func writeContract(file string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o644)
}

func compareContract(file string, now *contract.Lock) error {
	const accept = "run the test with " + UpdateContracts + "=1 to write the file"
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s does not exist: %s", file, accept)
	}
	if err != nil {
		return err
	}
	before, err := contract.Parse(data)
	if err != nil {
		return fmt.Errorf("read %s: %w", file, err)
	}
	changes := contract.Diff(before, now)
	if len(changes) == 0 && before.Digest == now.Digest {
		return nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "the server differs from %s:\n", file)
	for _, c := range changes {
		fmt.Fprintf(&b, "  %-13s  %s\n", c.Severity, c)
	}
	return fmt.Errorf("%sif the changes are intended, %s", &b, accept)
}

// offered reads what a server offers, in the newest revision that it supports.
func offered(t TB, s Server) (*contract.Lock, error) {
	t.Helper()
	var errs []error
	for _, r := range slices.Backward(mcp.Revisions) {
		c, err := new(Client).connect(t, s, r.Revision)
		if err != nil {
			errs = append(errs, fmt.Errorf("connect with revision %v: %w", r.Revision, err))
			continue
		}
		o, err := c.offer(t.Context())
		if err != nil {
			return nil, err
		}
		return contract.New(o)
	}
	return nil, errors.Join(errs...)
}

// offer reads all lists that the server has.
func (c *Conn) offer(ctx context.Context) (o *contract.Offer, err error) {
	caps, info := c.ServerCapabilities(), c.ServerInfo()
	o = &contract.Offer{Revision: c.Revision().String(), Info: &info, Capabilities: caps, Instructions: c.advice}
	if caps.Tools != nil {
		if o.Tools, err = collect(c.ListToolsAll(ctx, &mcp.ListToolsRequest{})); err != nil {
			return nil, fmt.Errorf("tools: %w", err)
		}
	}
	if caps.Prompts != nil {
		if o.Prompts, err = collect(c.ListPromptsAll(ctx, &mcp.ListPromptsRequest{})); err != nil {
			return nil, fmt.Errorf("prompts: %w", err)
		}
	}
	if caps.Resources != nil {
		if o.Resources, err = collect(c.ListResourcesAll(ctx, &mcp.ListResourcesRequest{})); err != nil {
			return nil, fmt.Errorf("resources: %w", err)
		}
		o.Templates, err = collect(c.ListResourceTemplatesAll(ctx, &mcp.ListResourceTemplatesRequest{}))
		if p, ok := errors.AsType[*peer.Error](err); ok && p.Code == mcp.CodeMethodNotFound {
			err = nil // resources without templates
		}
		if err != nil {
			return nil, fmt.Errorf("resource templates: %w", err)
		}
	}
	return o, nil
}

func collect[T any](entries iter.Seq2[*T, error]) (list []*T, err error) {
	for entry, err := range entries {
		if err != nil {
			return nil, err
		}
		list = append(list, entry)
	}
	return list, nil
}
