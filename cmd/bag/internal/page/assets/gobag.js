import { start } from "/static/view.js";

start();
