package acceptance

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/peer"
)

// tripInput has the arguments of the tools.
type tripInput struct {
	Season string `json:"season,omitempty" default:"summer"`
}

// newServer returns a server whose tools ask questions in different ways. It logs nothing if opts has
// no logger. opts may be nil.
func newServer(opts *mcpserver.Options) *mcpserver.Server {
	if opts == nil {
		opts = &mcpserver.Options{}
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	server := mcpserver.New(mcp.Implementation{Name: "travel", Version: "1"}, opts)
	for name, h := range map[string]func(context.Context, *mcp.ServerSession, tripInput) (string, error){
		"trip": trip, "same-trip": trip, "wrapped": wrapped, "swallowed": swallowed, "at-once": atOnce, "group": group,
		"echo": echo, "panics": panics, "pid": pid, "hang": hang,
	} {
		mcpserver.AddTool(server, &mcp.Tool{Name: name}, h)
	}
	return server
}

// trip asks the user twice and the model once, one after the other.
func trip(ctx context.Context, s *mcp.ServerSession, in tripInput) (string, error) {
	who, err := ask(ctx, s, "Who travels?")
	if err != nil {
		return "", err
	}
	where, err := ask(ctx, s, "Where to, "+who+"?")
	if err != nil {
		return "", err
	}
	praise, err := sample(ctx, s, "Praise "+where)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s goes to %s in %s: %s", who, where, in.Season, praise), nil
}

// ask asks the user for a text. It returns an error if the user declines.
func ask(ctx context.Context, s *mcp.ServerSession, question string) (string, error) {
	res, err := s.ElicitForm(ctx, form(question))
	if err != nil {
		return "", err
	}
	if res.Action != mcp.ElicitActionAccept {
		return "", mcpserver.Errorf("%s: %s", question, res.Action)
	}
	return fmt.Sprint(res.Content["text"]), nil
}

func form(question string) *mcp.ElicitRequestFormParams {
	return &mcp.ElicitRequestFormParams{Message: question, RequestedSchema: mcp.RequestedSchema{
		Properties: []mcp.FormField{{Name: "text", Schema: &mcp.StringSchema{MinLength: new(int64(1))}}},
		Required:   []string{"text"},
	}}
}

func sample(ctx context.Context, s *mcp.ServerSession, prompt string) (string, error) {
	res, err := s.CreateMessage(ctx, &mcp.CreateMessageRequest{MaxTokens: 10, Messages: []mcp.SamplingMessage{{
		Role: mcp.RoleUser, Content: []mcp.SamplingMessageContentBlock{mcp.Text(prompt)},
	}}})
	if err != nil {
		return "", err
	}
	return res.Content[0].(*mcp.TextContent).Text, nil
}

// wrapped wraps the errors of trip.
func wrapped(ctx context.Context, s *mcp.ServerSession, in tripInput) (string, error) {
	text, err := trip(ctx, s, in)
	if err != nil {
		return "", mcpserver.Errorf("the trip is off: %v", err)
	}
	return text, nil
}

// swallowed returns a result even if trip fails.
func swallowed(ctx context.Context, s *mcp.ServerSession, in tripInput) (string, error) {
	text, err := trip(ctx, s, in)
	if err != nil {
		return "everybody stays at home", nil
	}
	return text, nil
}

// atOnce asks three questions concurrently.
func atOnce(ctx context.Context, s *mcp.ServerSession, _ tripInput) (string, error) {
	var all sync.WaitGroup
	texts, errs := make([]string, 3), make([]error, 3)
	all.Go(func() { texts[0], errs[0] = ask(ctx, s, "Who travels?") })
	all.Go(func() { texts[1], errs[1] = ask(ctx, s, "Where to?") })
	all.Go(func() { texts[2], errs[2] = sample(ctx, s, "Praise it") })
	all.Wait()
	return fmt.Sprint(texts), errors.Join(errs...)
}

// group asks three questions concurrently and stops at the first error.
func group(ctx context.Context, s *mcp.ServerSession, _ tripInput) (string, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var all sync.WaitGroup
	texts := make([]string, 3)
	for i := range texts {
		all.Go(func() {
			var err error
			if texts[i], err = ask(ctx, s, fmt.Sprintf("Stop %d?", i)); err != nil {
				cancel(err)
			}
		})
	}
	all.Wait()
	return fmt.Sprint(texts), context.Cause(ctx)
}

func echo(_ context.Context, _ *mcp.ServerSession, in tripInput) (string, error) {
	return in.Season, nil
}

func panics(context.Context, *mcp.ServerSession, tripInput) (string, error) {
	panic("a secret of the tool")
}

// pid returns the id of the server's process.
func pid(context.Context, *mcp.ServerSession, tripInput) (string, error) {
	return fmt.Sprint(os.Getpid()), nil
}

// hang reports progress and blocks until its call ends.
func hang(ctx context.Context, s *mcp.ServerSession, _ tripInput) (string, error) {
	fmt.Fprintln(os.Stderr, "about to hang")
	if err := s.ReportProgress(ctx, peer.Progress{Progress: 1}); err != nil {
		return "", err
	}
	<-ctx.Done()
	return "", context.Cause(ctx)
}
