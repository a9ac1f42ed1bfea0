// Command elicitation is a server with a tool that asks the user two questions, on
// standard input and output. The second question depends on the first response. The code
// is the same for every revision of the protocol that supports elicitation.
//
// Start it from a client that supports elicitation, for example the MCP Inspector:
//
//	npx @modelcontextprotocol/inspector go run ./examples/elicitation
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
	mcpserver.AddTool(server, &mcp.Tool{Name: "book", Description: "Asks the user which tickets to buy for a concert, and books them."}, book)
	return server
}

// order has the arguments of the tool.
type order struct {
	Concert string `json:"concert" jsonschema:"the name of the concert" minLength:"1"`
}

// seats and consent are the forms. Each field of a struct is a field of its form.
type (
	seats struct {
		Count int    `json:"count" jsonschema:"How many tickets?" minimum:"1" maximum:"8" default:"2"`
		Where string `json:"where" jsonschema:"Where in the hall?" enum:"stalls,balcony"`
	}
	consent struct {
		Agree bool `json:"agree" jsonschema:"Do you want to buy them?"`
	}
)

// price is the price of one ticket in francs.
const price = 40

// book asks for the seats, and then for consent to the price.
func book(ctx context.Context, s *mcp.ServerSession, in order) (string, error) {
	choice, err := mcpserver.Elicit[seats](ctx, s, "Tickets for "+in.Concert)
	if err != nil {
		return notBooked, ignoreDeclined(err)
	}
	question := fmt.Sprintf("%d tickets in the %s cost %d francs.", choice.Count, choice.Where, choice.Count*price)
	consented, err := mcpserver.Elicit[consent](ctx, s, question)
	if err != nil || !consented.Agree {
		return notBooked, ignoreDeclined(err)
	}
	return fmt.Sprintf("Booked for %s: %d in the %s.", in.Concert, choice.Count, choice.Where), nil
}

const notBooked = "No tickets were booked."

// ignoreDeclined returns nil if the user declined to respond. The tool must return all other
// errors unchanged: from revision 2026-07-28 on, one of them sends the question to the client.
func ignoreDeclined(err error) error {
	if _, declined := errors.AsType[*mcpserver.DeclinedError](err); declined {
		return nil
	}
	return err
}
