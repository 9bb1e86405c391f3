package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/config"
	"github.com/gorosbag/gorosbag/internal/bagexpr"
	"github.com/gorosbag/gorosbag/internal/bagnote"
	"github.com/gorosbag/gorosbag/internal/program"
	"github.com/gorosbag/gorosbag/internal/store"
	"github.com/gorosbag/gorosbag/internal/topicmatch"
	"github.com/gorosbag/gorosbag/internal/upload"
	"github.com/gorosbag/gorosbag/internal/web"
	"github.com/gorosbag/gorosbag/recorder"
)

// check returns what is wrong with the meaning of values, of which config knows nothing.
func check(c *config.Record) config.ValueErrors {
	var v config.ValueErrors
	checkTopic := checkTopicOrGlob
	if c.Regex {
		checkTopic = topicmatch.CheckRegex
	}
	v.Check("topic", checkTopic, c.Topics...)
	v.Check("exclude", topicmatch.CheckRegex, c.Exclude...)
	v.Check("type", topicmatch.CheckGlob, c.Type...)
	v.Check("node", program.CheckName, c.Node...)
	v.Check("node-publications", program.CheckName, c.NodePublications...)
	v.Check("max-rate", topicmatch.CheckGlob, slices.Sorted(maps.Keys(c.MaxRate))...)
	v.Check("every", topicmatch.CheckGlob, slices.Sorted(maps.Keys(c.Every))...)
	v.Check("count", topicmatch.CheckGlob, slices.Sorted(maps.Keys(c.Count))...)
	v.Check("note", checkNote, c.Note...)
	v.Check("output-prefix", checkFileName, c.OutputPrefix)
	v.Check("output-name", checkFileName, c.OutputName)
	v.Check("name-template", checkTemplate, c.NameTemplate)
	v.Check("upload", checkUpload, c.Upload.To)
	v.Check("snapshot-on", checkExpression, c.SnapshotOn...)
	v.Check("mark-on", checkExpression, c.MarkOn...)
	v.Check("pin-on", checkExpression, c.PinOn...)
	v.Check("start-on", checkExpression, c.StartOn...)
	v.Check("stop-on", checkExpression, c.StopOn...)
	if most := memory(c).MemoryBytes() / 4 * 3; most >= 0 && int64(c.SnapshotBytes) > most {
		v.Add("snapshot-bytes", c.SnapshotBytes.String(), fmt.Errorf("does not fit into three quarters of --buffsize %d: want at most %dM, or a larger --buffsize", c.Buffsize, most>>20))
	}
	c.Web.Check(&v, web.CheckToken, func(address string, hasToken bool) error {
		return web.CheckListen(context.Background(), address, hasToken)
	})
	program.CheckROS(&v, &c.ROS)
	return v
}

// resolver resolves a name of ROS.
type resolver = func(name string) (string, error)

// checkStart returns the error with which the start would refuse to record, without a node.
func checkStart(c *config.Record, notes []bagnote.Note, log *zap.Logger, resolve resolver) error {
	o := options(c, log)
	o.Notes = notes
	set, err := newTriggers(c, &o, nil, resolve)
	if err != nil {
		return err
	}
	if set != nil {
		o.Watch = set
	}
	fitMemory(&o, memoryLimit("/"), 0, log)
	return recorder.Check(o, resolve)
}

func checkTopicOrGlob(text string) error {
	if topicmatch.IsGlob(text) {
		return topicmatch.CheckGlob(text)
	}
	return program.CheckName(text)
}

func checkNote(text string) error {
	_, err := bagnote.ParseNote(text)
	var bad *bagnote.NoteError
	if errors.As(err, &bad) {
		return errors.New(bad.Reason)
	}
	return err
}

func checkFileName(name string) error {
	if strings.ContainsFunc(name, unicode.IsControl) {
		return errors.New("want no control characters")
	}
	return nil
}

func checkTemplate(template string) error {
	return errors.Join(checkFileName(template), recorder.Output{Template: template}.Check())
}

// checkUpload checks the URL of a store, whose path may hold {host} and letters of strftime.
func checkUpload(url string) error {
	to, err := upload.ParseDestination(url)
	if err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), store.Redact(url)+": "))
	}
	if err := store.CheckUploadURL(to.URL); err != nil {
		return errors.New(store.Message(err))
	}
	return nil
}

// checkExpression compiles the expression of a trigger.
func checkExpression(text string) error {
	_, err := bagexpr.CompileTopics(text, func(name string) (string, error) { return name, program.CheckName(name) })
	var bad *bagexpr.ExpressionError
	switch {
	case errors.As(err, &bad) && bad.Line > 0:
		return fmt.Errorf("%s, at %d:%d: want an expression as of gobag filter", bad.Reason, bad.Line, bad.Column)
	case bad != nil:
		return errors.New(bad.Reason)
	}
	return err
}
