// Command weather serves the method of an extension, and calls it.
package main

import (
	"context"
	"fmt"
	"log"

	"example.com/weather/forecast"
	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/peer"
)

//go:generate go tool gen extension -schema weather.json -name com.example/weather -out forecast -client Settings -server Settings

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	var atServer mcpserver.Options
	if err := forecast.SetServerSettings(&atServer.Extensions, &forecast.Settings{Units: forecast.UnitsMetric}); err != nil {
		return err
	}
	server := mcpserver.New(mcp.Implementation{Name: "weather", Version: "1"}, &atServer)
	mcpserver.Handle(server, func(_ context.Context, req *forecast.GetForecastRequest) (*forecast.GetForecastResult, error) {
		return &forecast.GetForecastResult{Days: []forecast.Day{{Date: "2027-01-01", High: 3, Sky: forecast.SkyClear}}}, nil
	})

	var atClient mcpclient.Options
	if err := forecast.SetClientSettings(&atClient.Capabilities.Extensions, &forecast.Settings{Units: forecast.UnitsMetric}); err != nil {
		return err
	}
	client, err := mcpclient.Connect(ctx, mcpclient.InProcess(server), &atClient)
	if err != nil {
		return err
	}
	defer client.Close()
	res, err := peer.SendRequest(ctx, client, &forecast.GetForecastRequest{City: "Bern"})
	if err != nil {
		return err
	}
	for _, day := range res.Days {
		fmt.Printf("%s: %s, %g degrees\n", day.Date, day.Sky, day.High)
	}
	return nil
}
