package main

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/config"
	"github.com/gorosbag/gorosbag/internal/moment"
	"github.com/gorosbag/gorosbag/internal/program"
	"github.com/gorosbag/gorosbag/internal/store"
	"github.com/gorosbag/gorosbag/internal/topicmatch"
	"github.com/gorosbag/gorosbag/internal/web"
	"github.com/gorosbag/gorosbag/player"
)

// parse reads the command line, the environment and the file into c. Its error has all that is
// wrong.
func parse(args []string, c *config.Play) error {
	err := config.Parse(name, config.PlayHelp, program.Version(), args, c, config.PlayMultitoken...)
	return c.Join(err, check(c))
}

// check returns what is wrong with the meaning of values, of which config knows nothing.
func check(c *config.Play) config.ValueErrors {
	var v config.ValueErrors
	checkTopic := checkPattern
	if c.Regex {
		checkTopic = topicmatch.CheckRegex
	}
	v.Check("bags", func(bag string) error { return checkBag(bag, c.Regex) }, c.AllBags()...)
	v.Check("topics", checkTopic, c.Topics...)
	v.Check("type", topicmatch.CheckGlob, c.Type...)
	v.Check("exclude", checkTopic, c.Exclude...)
	v.Check("deny", checkTopic, c.Deny...)
	v.Check("wait-for", checkTopic, c.WaitFor...)
	v.Check("rename", func(rule string) error {
		_, err := topicmatch.ParseRename(rule, c.Regex)
		return err
	}, c.Rename...)
	v.Check("rate-control-topic", program.CheckName, c.RateControlTopic)
	c.Web.Check(&v, web.CheckToken, func(address string, hasToken bool) error {
		return web.CheckListen(context.Background(), address, hasToken)
	})
	program.CheckROS(&v, &c.ROS)
	return v
}

// resolver resolves a name of ROS.
type resolver = func(name string) (string, error)

// checkStart returns the error with which the start would refuse to play, without a node. Bags in
// stores are not asked for: if there are any, what is in the bags is not looked at.
func checkStart(c *config.Play, log *zap.Logger, resolve resolver) error {
	ctx := context.Background()
	remote := slices.ContainsFunc(c.AllBags(), store.IsURL)
	bags, err := open(ctx, io.Discard, log, slices.DeleteFunc(c.AllBags(), store.IsURL), int64(c.MaxChunk))
	if err != nil || remote {
		return err
	}
	o, err := options(c, bags, log)
	if err == nil {
		err = player.Check(ctx, o, resolve)
	}
	if missing := (*player.NotInBagsError)(nil); errors.Is(err, player.ErrNoMessages) && !errors.As(err, &missing) {
		return nil // play ends at once, and well
	}
	return withFlag(err)
}

// checkPattern accepts any name: topics of bags need not have the names of ROS.
func checkPattern(text string) error {
	if topicmatch.IsGlob(text) {
		return topicmatch.CheckGlob(text)
	}
	return nil
}

// checkBag checks the name of a bag. isRegex is -e.
func checkBag(bag string, isRegex bool) error {
	if isRegex {
		if err := moment.CheckNotEnd(bag); err != nil {
			return err
		}
	}
	if strings.Contains(bag, "://") && !store.IsURL(bag) {
		return errors.New("want a file, or a URL with s3://, gs://, azblob://, file://, http:// or https://")
	}
	return nil
}
