package main

import (
	"context"
	"embed"
	"fmt"
	"log"
	"math/rand/v2"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/apps"
	"github.com/mcpwright/mcp/runtime/mcpserver"
)

//go:embed dice.html
var files embed.FS

type rolled struct {
	Number int `json:"number"` // for the view
}

// ModelText returns the text for the model, and for users whose client shows no views.
func (r rolled) ModelText() string { return fmt.Sprint("The user rolled ", r.Number) }

func roll(context.Context, *mcp.ServerSession, struct{}) (rolled, error) {
	return rolled{1 + rand.IntN(6)}, nil
}

func main() {
	server := mcpserver.New(mcp.Implementation{Name: "dice", Version: "1.0.0"}, nil)
	dice := apps.AddView(server, files, apps.View{URI: "ui://dice/roll", File: "dice.html"})
	mcpserver.AddTool(server, dice.Tool(&mcp.Tool{Name: "roll", Description: "Rolls a die."}), roll)
	if err := server.ServeStdio(context.Background()); err != nil {
		log.Fatal(err)
	}
}
