// Command elicitation serves a tool that asks its user, on standard input and
// output. The second question depends on the first answer, and the code is the
// same for clients of every revision that has questions.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/mcpwright/mcp/generated/mcp"
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

// price is that of one ticket, in francs.
const price = 40

func book(ctx context.Context, s *mcp.ServerSession, in order) (string, error) {
	wish, err := mcpserver.Elicit[seats](ctx, s, "Tickets for "+in.Concert)
	if err != nil {
		return nothing, unlessDeclined(err)
	}
	question := fmt.Sprintf("%d tickets in the %s cost %d francs.", wish.Count, wish.Where, wish.Count*price)
	answer, err := mcpserver.Elicit[consent](ctx, s, question)
	if err != nil || !answer.Agree {
		return nothing, unlessDeclined(err)
	}
	return fmt.Sprintf("Booked for %s: %d in the %s.", in.Concert, wish.Count, wish.Where), nil
}

const nothing = "Nothing was booked."

// unlessDeclined drops the error of a user who did not want to answer. All others
// have to be returned: one of them carries the question to the client.
func unlessDeclined(err error) error {
	if _, declined := errors.AsType[*mcpserver.DeclinedError](err); declined {
		return nil
	}
	return err
}
