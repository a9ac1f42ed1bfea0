// Command elicitation serves a tool that asks its user, on standard input and
// output. The second question depends on the first answer, and the code is the
// same for clients of every revision that has questions.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/mcpserver"
)

func main() {
	if err := newServer().ServeStdio(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func newServer() *mcpserver.Server {
	server := mcpserver.New(mcp.Implementation{Name: "tickets", Version: "1.0.0"}, nil)
	mcpserver.AddTool(server, &mcp.Tool{Name: "book", Description: "Books tickets for a concert, as the user wants them."}, book)
	return server
}

type order struct {
	Concert string `json:"concert" jsonschema:"which concert" minLength:"1"`
}

// The fields of a form are those of a struct.
type (
	seats struct {
		Count int    `json:"count" jsonschema:"How many tickets?" minimum:"1" maximum:"8" default:"2"`
		Where string `json:"where" jsonschema:"Where in the hall?" enum:"stalls,balcony"`
	}
	consent struct {
		Agree bool `json:"agree" jsonschema:"Do you want to buy them?"`
	}
)

func book(ctx context.Context, s *mcp.ServerSession, in order) (string, error) {
	wish, err := ask[seats](ctx, s, "Tickets for "+in.Concert)
	if wish == nil {
		return "Nothing was booked.", err
	}
	question := fmt.Sprintf("%v tickets in the %v cost %v francs.", wish["count"], wish["where"], price(wish))
	answer, err := ask[consent](ctx, s, question)
	if answer == nil || answer["agree"] != true {
		return "Nothing was booked.", err
	}
	return fmt.Sprintf("Booked for %s: %v in the %v.", in.Concert, wish["count"], wish["where"]), nil
}

func price(wish map[string]any) string { return fmt.Sprint(wish["count"], " × 40") }

// ask puts a form to the user. It returns nil where the user does not want to
// answer.
func ask[Form any](ctx context.Context, s *mcp.ServerSession, message string) (map[string]any, error) {
	form, err := connection.FormOf[Form]()
	if err != nil {
		return nil, err
	}
	answer, err := s.ElicitForm(ctx, &mcp.ElicitRequestFormParams{Message: message, RequestedSchema: form})
	if err != nil || answer.Action != mcp.ElicitActionAccept {
		return nil, err
	}
	return answer.Content, nil
}
