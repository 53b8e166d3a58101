/** The chat's own tools, for programs (`perdure/tools`). */
export { LocalRunner, toolEnvironment } from "../runner/local-runner.js";
export { builtinTools } from "./index.js";
