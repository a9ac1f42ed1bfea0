package mcpserver_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/wire"
)

// trip is a form with a field of each kind.
type trip struct {
	To     string    `json:"to" minLength:"1"`
	Nights int       `json:"nights" minimum:"1"`
	Rating float64   `json:"rating,omitempty"`
	Window bool      `json:"window"`
	Start  time.Time `json:"start"`
	Note   *string   `json:"note"`
}

// tripper returns a server whose tool asks for a trip and gives what it got, or
// the outcome.
func tripper(outcome *mcp.ElicitAction) *mcpserver.Server {
	return tool(nil, &mcp.Tool{}, func(ctx context.Context) (string, error) {
		t, err := mcpserver.Elicit[trip](ctx, mcp.SessionFromContext(ctx), "Where to?")
		if e, declined := errors.AsType[*mcpserver.DeclinedError](err); declined {
			*outcome = e.Action
			return "", fmt.Errorf("ask for the trip: %w", err)
		}
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%s %d %v %t %s %t", t.To, t.Nights, t.Rating, t.Window, t.Start.Format(time.DateOnly), t.Note == nil), nil
	})
}

func TestAFormComesBackFilledIn(t *testing.T) {
	for _, r := range []wire.Revision{mcp.Revision20250618, mcp.Revision20251125, mcp.Revision20260728} {
		u := newUser(tripper(nil), r, says(`{"to":"Oslo","nights":3,"rating":4.5,"window":true,"start":"2026-12-01T08:00:00Z"}`))
		got, err := u.use("t", `{}`)
		require.NoError(t, err)
		require.Equal(t, "Oslo 3 4.5 true 2026-12-01 true", got, r)
		require.NoError(t, u.Close())
	}
}

func TestWhatTheFormDoesNotHaveFillsInNothing(t *testing.T) {
	for _, revision := range asking {
		u := asker(t, revision, func(ctx context.Context, s *mcp.ServerSession) (string, error) {
			got, err := mcpserver.Elicit[struct {
				Guests int    `minimum:"1" maximum:"12"`
				Note   string `json:"Note,omitempty" maxLength:"3"`
			}](ctx, s, "?")
			return fmt.Sprintf("%d%q", got.Guests, got.Note), err
		})
		u.answers = says(`{"Guests":2,"guests":-100,"note":"too long","other":1}`)
		got, err := u.use("tool", `{}`)
		require.NoError(t, err)
		require.Equal(t, `2""`, got, revision)
	}
}

func TestAUserMayDecline(t *testing.T) {
	for action, text := range map[mcp.ElicitAction]string{
		mcp.ElicitActionDecline: "The user declined to answer.",
		mcp.ElicitActionCancel:  "The user closed the question without an answer.",
	} {
		var outcome mcp.ElicitAction
		u := newUser(tripper(&outcome), mcp.Revision20260728, func(string) string { return fmt.Sprintf(`{"action":%q}`, action) })
		got, err := u.use("t", `{}`)
		require.NoError(t, err)
		require.Equal(t, text, got, "the model is told")
		require.Equal(t, action, outcome)
		require.ErrorContains(t, &mcpserver.DeclinedError{Action: action}, string(action))
		require.NoError(t, u.Close())
	}
}

func TestAFormOfNothingFlatIsRefused(t *testing.T) {
	s := tool(nil, &mcp.Tool{}, func(ctx context.Context) (string, error) {
		_, err := mcpserver.Elicit[struct{ Deep struct{ A int } }](ctx, mcp.SessionFromContext(ctx), "?")
		require.ErrorContains(t, err, "Deep")
		return "refused", nil
	})
	u := newUser(s, mcp.Revision20260728, nil)
	got, err := u.use("t", `{}`)
	require.NoError(t, err)
	require.Equal(t, "refused", got)
	require.NoError(t, u.Close())
}

func TestANumberThatTheTypeCannotHaveIsAskedForAgain(t *testing.T) {
	for _, revision := range asking {
		u := asker(t, revision, func(ctx context.Context, s *mcp.ServerSession) (string, error) {
			got, err := mcpserver.Elicit[struct{ A, B uint8 }](ctx, s, "?")
			return fmt.Sprint(got.A, got.B), err
		})
		contents := []string{`{"A":-1,"B":1}`, `{"A":1,"B":256}`, `{"A":0,"B":255}`}
		u.answers = func(string) string {
			next := contents[0]
			contents = contents[1:]
			return says(next)("")
		}
		got, err := u.use("tool", `{}`)
		require.NoError(t, err)
		require.Equal(t, "0 255", got, revision)
	}
}

func TestAnIntegerOfAFormHasAllOfItsDigitsOrIsAskedForAgain(t *testing.T) {
	for _, revision := range asking {
		u := asker(t, revision, func(ctx context.Context, s *mcp.ServerSession) (string, error) {
			got, err := mcpserver.Elicit[struct {
				A int64
				B uint64
			}](ctx, s, "?")
			return fmt.Sprint(got.A, got.B), err
		})
		contents := []string{`{"A":9007199254740993,"B":1}`, `{"A":-1,"B":18446744073709551615}`, `{"A":-9007199254740991,"B":9007199254740991}`}
		u.answers = func(string) string {
			next := contents[0]
			contents = contents[1:]
			return says(next)("")
		}
		got, err := u.use("tool", `{}`)
		require.NoError(t, err)
		require.Equal(t, "-9007199254740991 9007199254740991", got, revision)
	}
}
