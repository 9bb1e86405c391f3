package own

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/tcpros"
)

// Where Params puts the parameters and the node graph: std_msgs/String, latched, each with one
// JSON text, which rosparam load also takes.
const (
	ParamsTopic = "/gorecord/params" // the tree of parameters
	GraphTopic  = "/gorecord/graph"  // {"publishers", "subscribers": {topic: [node]}, "services": {service: [node]}, "types": {topic: type}}
)

const (
	// MaxStored is the largest text that is stored, in bytes.
	MaxStored = 16 << 20

	paramsRetry = time.Second // between attempts to reach the master
)

// Params asks the master for the parameters and for the graph, and records both. Errors are logged
// and cost nothing else. Params returns when both are stored, or when ctx is done.
func (w *Writer) Params(ctx context.Context, master *tcpros.Master) {
	w.Store(ctx, ParamsTopic, func() (any, error) {
		value, _, err := master.Param(ctx, "/")
		return value, err
	})
	w.Store(ctx, GraphTopic, func() (any, error) {
		state, err := master.SystemState(ctx)
		if err != nil {
			return nil, err
		}
		list, err := master.TopicTypes(ctx)
		types := map[string]string{}
		for _, t := range list {
			types[t.Name] = t.Type
		}
		return map[string]any{"publishers": state.Publishers, "subscribers": state.Subscribers, "services": state.Services, "types": types}, err
	})
}

// Store records on a topic the value that ask returns, as soon as ask has no error.
func (w *Writer) Store(ctx context.Context, topic string, ask func() (any, error)) {
	log := w.log.With(zap.String("topic", topic))
	warned := false
	for {
		value, err := ask()
		if err == nil {
			if err = w.keep(topic, finite(value)); err != nil {
				log.Error("not stored in the bag", zap.Error(err))
			}
			return
		}
		if !warned && ctx.Err() == nil {
			warned = true
			log.Warn("not stored yet: the master does not say", zap.Error(err))
		}
		select {
		case <-time.After(paramsRetry):
		case <-ctx.Done():
			return
		}
	}
}

// keep hands one value to the intake, as a link does.
func (w *Writer) keep(topic string, value any) error {
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return err
	}
	if line.Len() > MaxStored {
		return fmt.Errorf("%d bytes, at most %d are stored", line.Len(), MaxStored)
	}
	l := w.links.OpenLatched(topic, text)
	deliver(l, TextFrame(bytes.TrimSpace(line.Bytes())), time.Now())
	l.Closed(nil)
	return nil
}

// finite makes texts of the numbers that JSON does not have.
func finite(v any) any {
	switch v := v.(type) {
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return strconv.FormatFloat(v, 'g', -1, 64)
		}
	case []any:
		for i := range v {
			v[i] = finite(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = finite(v[k])
		}
	}
	return v
}
