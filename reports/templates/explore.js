"use strict";
// The explorer of a public table: nothing is fetched, stored or sent, and nothing happens until the reader starts it.
(() => {
  const $ = (id) => document.getElementById(id);
  const make = (tag, text, attributes = {}) => {
    const element = document.createElement(tag);
    element.textContent = text;
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    return element;
  };
  const percent = (share) => (share > 0 && share < 0.0005 ? "<0.1%" : (100 * share).toFixed(1) + "%");
  const number = (count) => String(count).replace(/\B(?=(\d{3})+$)/g, ",");

  // Codes of an attribute: `bits` bits each, packed without gaps, the lowest bit first.
  const unpack = (text, bits, rows) => {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const codes = new (bits > 16 ? Uint32Array : Uint16Array)(rows);
    for (let row = 0, place = 0; row < rows; row++) {
      let code = 0;
      for (let bit = 0; bit < bits; bit++, place++) code |= ((bytes[place >> 3] >> (place & 7)) & 1) << bit;
      codes[row] = code;
    }
    return codes;
  };

  // Of more values than these, those with the most records are shown: a browser draws no table of all.
  const MOST_VALUES = 500;

  const start = () => {
    const data = JSON.parse($("data").textContent);
    const rows = data.rows, attributes = data.attributes;
    const codes = attributes.map((attribute) => unpack(attribute.codes, attribute.bits, rows));
    const filters = new Map();

    const kept = () => {
      const held = [...filters].map(([which, values]) => [codes[which], values]);
      const found = [];
      for (let row = 0; row < rows; row++) {
        if (held.every(([column, values]) => values.has(column[row]))) found.push(row);
      }
      return found;
    };
    // The values of an attribute that are shown, in order, given how many records have each.
    const shownOf = (attribute, counts) => {
      const all = [...attribute.values.keys()];
      if (all.length <= MOST_VALUES) return all;
      const there = all.filter((value) => counts[value] > 0);
      return there.sort((a, b) => counts[b] - counts[a] || a - b).slice(0, MOST_VALUES).sort((a, b) => a - b);
    };
    const countsOf = (which, found) => {
      const counts = new Uint32Array(attributes[which].values.length);
      for (const row of found) counts[codes[which][row]]++;
      return counts;
    };
    const leftOut = (...those) => those
      .filter((attribute) => attribute.values.length > MOST_VALUES)
      .map((attribute) => " Of " + attribute.name + ", the " + MOST_VALUES + " values with the most records are shown.")
      .join("");
    const intervalOf = (counted, cell) => {
      if (!counted || filters.size) return null;
      const ends = [-1, 1].map((side) => (counted.noisy[cell] + side * counted.reach) / data.counted);
      return ends.map((end) => Math.min(1, Math.max(0, end)));
    };
    const inWords = (ends) => ends.map((end) => (100 * end).toFixed(2) + "%").join(" to ");
    const about = (counted) => {
      if (counted && !filters.size) {
        return "The intervals are for the confidential records that were counted: 95 of 100 contain the true share. They are " +
          "computed from the published noisy counts alone.";
      }
      return filters.size
        ? "No intervals are shown: no confidential counts were made for filtered records."
        : "No intervals are shown: these values were not counted one by one with noise of their own.";
    };

    const histogram = () => {
      const which = Number($("one").value), attribute = attributes[which];
      const found = kept(), counts = countsOf(which, found);
      const most = counts.reduce((one, other) => Math.max(one, other), 1);
      const table = $("histogram");
      table.replaceChildren();
      const head = table.createTHead().insertRow();
      for (const word of ["Value", "", "Records", "Share", "Interval"]) {
        head.append(make("th", word, { scope: "col", class: word === "Records" || word === "Share" ? "number" : "" }));
      }
      const body = table.createTBody();
      shownOf(attribute, counts).forEach((value) => {
        const count = counts[value], line = body.insertRow(), ends = intervalOf(attribute.counted, value);
        line.append(make("th", attribute.values[value], { scope: "row" }));
        const bar = make("td", "", { class: "bar" }), drawn = make("span", "");
        drawn.style.width = (100 * count) / most + "%";
        bar.append(drawn);
        line.append(bar, make("td", number(count), { class: "number" }));
        line.append(make("td", percent(count / Math.max(1, found.length)), { class: "number" }));
        line.append(make("td", ends ? inWords(ends) : "none"));
      });
      $("histogram-about").textContent = about(attribute.counted) + leftOut(attribute);
      $("kept").textContent = number(found.length) + " of " + number(rows) + " records";
    };

    const crossTable = () => {
      const down = Number($("down").value), across = Number($("across").value);
      const table = $("cross"), found = kept(), as = $("as").value;
      const [one, other] = [attributes[down], attributes[across]];
      const sums = countsOf(down, found);
      const lines = shownOf(one, sums), columns = shownOf(other, countsOf(across, found));
      const [lineOf, columnOf] = [lines, columns].map((those) => new Map(those.map((value, place) => [value, place])));
      const width = columns.length, counts = new Uint32Array(lines.length * width);
      for (const row of found) {
        const y = lineOf.get(codes[down][row]), x = columnOf.get(codes[across][row]);
        if (y !== undefined && x !== undefined) counts[y * width + x]++;
      }
      const straight = data.pairs[down + "," + across], turned = data.pairs[across + "," + down];
      const counted = straight || turned;
      table.replaceChildren();
      const head = table.createTHead().insertRow();
      head.append(make("td", one.name + " in rows, " + other.name + " in columns"));
      for (const x of columns) head.append(make("th", other.values[x], { scope: "col", class: "number" }));
      head.append(make("th", "All", { scope: "col", class: "number" }));
      const body = table.createTBody();
      lines.forEach((y, place) => {
        const line = body.insertRow();
        line.append(make("th", one.values[y], { scope: "row" }));
        columns.forEach((x, next) => {
          const count = counts[place * width + next];
          const whole = as === "row" ? sums[y] : found.length;
          const cell = make("td", as === "count" ? number(count) : percent(count / Math.max(1, whole)), { class: "number" });
          cell.dataset.count = count;
          const ends = as === "row" ? null : intervalOf(counted, straight ? y * other.values.length + x : x * one.values.length + y);
          if (ends) cell.append(make("span", inWords(ends), { class: "covers" }));
          line.append(cell);
        });
        line.append(make("td", number(sums[y]), { class: "number" }));
      });
      $("cross-about").textContent =
        (as === "row" ? "No intervals are shown for shares of a row." : about(counted)) + leftOut(one, other);
    };

    // Estimates of the confidential table, from what was measured.
    const written = (value, as) => (as === "counts" ? number(Math.round(value)) : (100 * value).toFixed(2) + "%");
    const estimates = () => {
      const first = Number($("first").value), second = Number($("second").value), as = $("shown").value;
      const alone = second < 0 || second === first;
      const straight = data.measured[alone ? String(first) : first + "," + second];
      const found = straight || (alone ? null : data.measured[second + "," + first]);
      const table = $("estimates"), about = $("estimates-about");
      table.replaceChildren();
      if (!found) {
        const names = alone ? attributes[first].name : attributes[first].name + " and " + attributes[second].name;
        about.textContent = names + (alone ? " was" : " were") + " not counted" + (alone ? "" : " together") +
          ", or the table is too large for this page: intervals.csv has all tables, and deniable data infer gives " +
          "bounds for what was not counted.";
        return;
      }
      const down = straight ? found.labels[0] : found.labels[1];
      const across = alone ? [as === "counts" ? "Records" : "Share"] : straight ? found.labels[1] : found.labels[0];
      const head = table.createTHead().insertRow();
      head.append(make("td", attributes[first].name + (alone ? "" : " in rows, " + attributes[second].name + " in columns")));
      for (const value of across) head.append(make("th", value, { scope: "col", class: "number" }));
      const body = table.createTBody();
      down.forEach((value, y) => {
        const line = body.insertRow();
        line.append(make("th", value, { scope: "row" }));
        across.forEach((_, x) => {
          const place = alone ? y : straight ? y * across.length + x : x * down.length + y;
          const [middle, low, high] = found[as][place];
          const cell = make("td", written(middle, as), { class: "number" });
          cell.append(make("span", written(low, as) + " to " + written(high, as), { class: "covers" }));
          line.append(cell);
        });
      });
      about.textContent = "Below each estimate is its interval, which covers with probability " + found.level +
        " by itself. Grade: measured. The intervals rest on the published law of the noise, and on no model.";
    };

    const showFilters = () => {
      const list = $("filters");
      list.replaceChildren();
      for (const [which, values] of filters) {
        const names = [...values].map((value) => attributes[which].values[value]).join(", ");
        const item = make("li", attributes[which].name + ": " + names + " ");
        const remove = make("button", "remove", { type: "button" });
        remove.addEventListener("click", () => { filters.delete(which); showAll(); });
        item.append(remove);
        list.append(item);
      }
    };
    const showAll = () => { showFilters(); histogram(); crossTable(); };
    const showValues = () => {
      const which = Number($("by").value), values = attributes[which].values;
      const counts = countsOf(which, codes[which].keys()), list = document.createDocumentFragment();
      values.forEach((value, code) => {
        if (values.length <= MOST_VALUES || counts[code]) list.append(make("option", value, { value: code }));
      });
      $("values").replaceChildren(list);
    };

    for (const id of ["one", "down", "across", "by"]) {
      $(id).replaceChildren(
        ...attributes.map((attribute, which) => make("option", attribute.name + " " + attribute.title, { value: which })),
      );
    }
    $("across").value = String(Math.min(1, attributes.length - 1));
    for (const id of ["down", "across", "as"]) $(id).addEventListener("change", crossTable);
    $("one").addEventListener("change", histogram);
    $("by").addEventListener("change", showValues);
    $("keep").addEventListener("click", () => {
      const chosen = [...$("values").selectedOptions].map((option) => Number(option.value));
      if (chosen.length) filters.set(Number($("by").value), new Set(chosen));
      showAll();
    });
    if ($("estimates")) {
      const options = () => attributes.map((each, which) => make("option", each.name + " " + each.title, { value: which }));
      $("first").replaceChildren(...options());
      $("second").replaceChildren(make("option", "none", { value: -1 }), ...options());
      const pair = Object.keys(data.measured).find((key) => key.includes(","));
      if (pair) [$("first").value, $("second").value] = pair.split(",");
      for (const id of ["first", "second", "shown"]) $(id).addEventListener("change", estimates);
      estimates();
    }
    showValues();
    showAll();
    $("start").hidden = true;
    $("tools").hidden = false;
  };

  $("run").disabled = false;
  $("run").addEventListener("click", start);
})();
