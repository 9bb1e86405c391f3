// Package cursor walks over the messages of a bag in time order, and finds the latest message of a
// connection.
package cursor
