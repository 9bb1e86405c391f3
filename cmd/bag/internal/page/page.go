// Package page is the web page of gobag view: the program that a server of package web serves.
//
// It has no state. The panels are those of package view.
package page

import (
	"embed"
	"io/fs"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gorosbag/gorosbag/internal/face/web"
	"github.com/gorosbag/gorosbag/internal/view"
)

//go:embed assets
var embedded embed.FS

// Page is a web.Backend.
type Page struct{ viewer *view.Viewer }

// New returns the page of a Viewer.
func New(v *view.Viewer) *Page { return &Page{v} }

// Program implements web.Backend.
func (*Page) Program() string { return "gobag" }

// Pages implements web.Backend.
func (*Page) Pages() fs.FS { return web.Files(embedded) }

// Routes implements web.Backend.
func (p *Page) Routes(s *web.Server) { p.viewer.Routes(s) }

// Poll implements web.Backend: bags do not change.
func (*Page) Poll(time.Time) web.View { return web.View{State: struct{}{}} }

// Changed implements web.Backend: it never does.
func (*Page) Changed() <-chan struct{} { return nil }

// Describe implements prometheus.Collector: there is nothing to count.
func (*Page) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (*Page) Collect(chan<- prometheus.Metric) {}
