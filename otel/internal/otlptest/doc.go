// Package otlptest tests the telemetry of mcpotel with receivers that others wrote: the
// OTLP receiver of the OpenTelemetry Collector, and the parser of Prometheus. It is a
// module of its own, so that users of mcpotel do not get these dependencies.
package otlptest
